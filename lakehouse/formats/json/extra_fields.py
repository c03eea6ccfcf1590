"""Fields of JSON records that no table has: the parser passes over them, so a sample is looked at once more."""

from collections import Counter
from collections.abc import Collection

import msgspec
import pyarrow as pa

from lakehouse.formats.decoded import Observed
from lakehouse.formats.json.nesting import too_deep

SAMPLE = 64
"""So many records are looked at of each batch that a decoder is given, from its beginning."""
_LARGEST = 64 * 1024
_decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def extra_fields(values: pa.BinaryArray | pa.LargeBinaryArray, known: Collection[str]) -> Observed:
    """Count the fields at the top level that are not known, in a sample.

    Args:
        values: the records. One that is no object, or is long, tells nothing.
        known: what the tables call their fields in messages.
    """
    extra: Counter[str] = Counter()
    for value in values.slice(0, SAMPLE).to_pylist():
        if value is None or len(value) > _LARGEST or too_deep(value):
            continue
        try:
            members = _decode(value)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        extra.update(members.keys() - known)
    return Observed(extra=extra)
