"""NaN and infinity, which JSON has no numbers for: Debezium writes them as text, in columns of a row."""

from typing import Any

import msgspec
from pyarrow import types as t

from lakehouse.formats.changes.encodings import NOT_NUMBERS
from lakehouse.formats.changes.reading import Fields, member
from lakehouse.formats.changes.row_images import Images


class NotNumbers:
    """Takes them out of an envelope for the parser, and puts them into its record."""

    def __init__(self, images: Images) -> None:
        wired = zip(images.kind, images.fields, strict=True)
        self._members = {
            child.name: f"f{index}" for index, (child, wire) in enumerate(wired) if t.is_float64(wire.type)
        }

    def without(self, fields: Fields) -> tuple[bytes, list[tuple[str, str, float]]]:
        """The envelope with nulls in their places, and what was there: image, member, number."""
        numbers: list[tuple[str, str, float]] = []
        cut = dict(fields)
        for name in ("before", "after"):
            image = dict(member(fields, name) or {})
            columns = [(column, text) for column in self._members if (text := _text(image, column)) in NOT_NUMBERS]
            for column, text in columns:
                image[column] = msgspec.Raw(b"null")
                numbers.append((name, self._members[column], NOT_NUMBERS[text]))
            if columns:
                cut[name] = msgspec.Raw(msgspec.json.encode(image))
        return msgspec.json.encode(cut), numbers


def put(record: Any, numbers: list[tuple[str, str, float]]) -> None:
    """Sets the members of a record that were taken out."""
    for image, name, number in numbers:
        setattr(getattr(record, image), name, number)


def _text(image: Fields, column: str) -> str:
    return bytes(image[column]).decode() if column in image else ""
