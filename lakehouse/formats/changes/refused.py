"""What can be told of messages that were refused: whose rows they may be about, and which."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from lakehouse.formats.changes.keys import KeyReader
from lakehouse.formats.changes.reading import Fields, Form, fields_of, object_of
from lakehouse.formats.changes.routing import Router
from lakehouse.formats.verdict import RecordError

# The row that there is now, and the one that is gone.
_IMAGES = ("after", "before")


@dataclass(frozen=True)
class RefusedKeys:
    """Of some refused messages, those that may be about rows of one changelog.

    Args:
        rows: their numbers, ascending.
        known: of each whether its key can be read.
        columns: the key's columns; null where the key is not known.
        positions: of each epoch, commit and sequence in the source's log; None where they cannot be read.
    """

    rows: list[int]
    known: list[bool]
    columns: list[pa.Array]
    positions: list[tuple[int, int, int] | None] = field(default_factory=list[tuple[int, int, int] | None])


def refused_keys(
    router: Router,
    form: Form,
    reader: KeyReader,
    name: str,
    values: Sequence[bytes | None],
    keys: Sequence[bytes | None],
) -> RefusedKeys:
    """Read the keys of refused messages: from the message's key, or else from the key columns of the payload.

    Args:
        router: of the stream.
        form: how messages of the changelog are read.
        reader: reads its keys.
        name: the changelog.
        values: the messages as they came.
        keys: their keys.
    """
    rows = [row for row, (value, key) in enumerate(zip(values, keys, strict=True)) if router.may_be(name, value, key)]
    texts = [keys[row] for row in rows]
    broken = reader.read(texts).errors
    for image in _IMAGES:
        for number in broken:
            texts[number] = _key_in(form, reader.written_names, values[rows[number]], image) or texts[number]
        broken = reader.read(texts).errors
    read = reader.read(texts)
    known = np.ones(len(rows), np.bool_)
    known[list(read.errors)] = False
    index = pa.array(np.arange(len(rows)), mask=~known)
    return RefusedKeys(rows, known.tolist(), [column.take(index) for column in read.columns])


def _key_in(form: Form, names: Mapping[str, str], value: bytes | None, image: str) -> bytes | None:
    """The key's columns of an image, as the JSON of a key; None where it lacks one."""
    if value is None or isinstance(fields_of(value), RecordError):
        return None
    fields: Fields = form.image(value, image)
    if any(name not in fields for name in names):
        return None
    return object_of({written: fields[name] for name, written in names.items()})


def refused_positions(
    form: Form, values: Sequence[bytes | None], offsets: Sequence[int]
) -> list[tuple[int, int] | None]:
    """Commit and sequence of refused messages: what is wrong is mostly in an image, and the rest can be read.

    Args:
        form: how messages of the changelog are read.
        values: the messages as they came.
        offsets: of each in Kafka.
    """
    positions: list[tuple[int, int] | None] = [None] * len(values)
    parsed = {row: fields_of(value) for row, value in enumerate(values) if value is not None}
    bare = {row: form.without_images(fields) for row, fields in parsed.items() if not isinstance(fields, RecordError)}
    if not bare:
        return positions
    messages = pa.array([object_of(fields) for fields in bare.values()], pa.binary())
    facts = form.facts(form.read(messages), pa.array([offsets[row] for row in bare], pa.int64()))
    places = facts.places
    for number, row in enumerate(bare):
        if places.known[number] and number not in facts.errors:
            positions[row] = (int(places.commit[number]), int(places.sequence[number]))
    return positions
