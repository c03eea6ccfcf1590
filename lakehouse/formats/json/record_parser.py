"""Bytes to typed records, strictly, with a reason for every refusal.

What a record means: fields are matched by exact name, unknown ones are skipped (but must be JSON), a field given twice
counts as last given, null and absent are the same, and no value changes its JSON kind: a number is no string, `1.0` is
no integer, `"1"` is no number. Only a decimal may come as number or as string.
"""

import re
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute

from lakehouse.formats.json.nesting import MAX_DEPTH, may_be_deep, too_deep
from lakehouse.formats.verdict import RecordError

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers

_TOMBSTONE = RecordError("tombstone", "the record has no value")
_KINDS = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "array": "list"}
_MISMATCH = re.compile(r"^Expected `([^`]*)`, got `([^`]*)`(?: - at `\$\.?(.*)`)?$", re.DOTALL)
_PLACE = re.compile(r" - at `\$\.?(.*)`$", re.DOTALL)


class RecordParser:
    """Parses JSON values into instances of a msgspec model, or of a union of tagged models."""

    def __init__(self, model: Any) -> None:
        self._decode = msgspec.json.Decoder(model).decode

    def parse_all(self, values: pa.BinaryArray) -> list[Any] | None:
        """All values as records, quickly; or None if there is any that `parse` must look at."""
        if values.null_count:
            return None
        try:
            values.cast(pa.string())
            raw = values.to_pylist()
            longest = pc.max(pc.binary_length(values)).as_py() or 0
            if longest > MAX_DEPTH and any(map(may_be_deep, raw)):
                return None
            return list(map(self._decode, raw))
        except (pa.ArrowInvalid, msgspec.DecodeError):
            return None

    def parse(self, value: bytes | None) -> msgspec.Struct | RecordError:
        """One value as a record, or why it is none."""
        if value is None:
            return _TOMBSTONE
        try:
            if not value.isascii():
                value.decode("utf-8")
            if too_deep(value):
                return RecordError("not_json", f"nested more than {MAX_DEPTH} levels deep")
            return self._decode(value)
        except UnicodeDecodeError as error:
            return RecordError("not_json", f"not UTF-8: {error.reason} at byte {error.start}")
        except msgspec.ValidationError as error:
            return _explain(str(error))
        except msgspec.DecodeError as error:
            return RecordError("not_json", str(error))

    def parse_each(self, values: pa.BinaryArray) -> tuple[list[Any], dict[int, RecordError]]:
        """The good records in order, and the errors of the others by position."""
        records: list[Any] = []
        errors: dict[int, RecordError] = {}
        for position, value in enumerate(values.to_pylist()):
            record = self.parse(value)
            if isinstance(record, RecordError):
                errors[position] = record
            else:
                records.append(record)
        return records, errors


def field_reader(field: str) -> RecordParser:
    """A parser of records with a single member, `f0`: the JSON of the top-level field of that name, whatever it is."""
    return RecordParser(msgspec.defstruct("Record", [("f0", msgspec.Raw, msgspec.Raw(b"null"))], rename={"f0": field}))


def _explain(complaint: str) -> RecordError:
    """Msgspec's complaint in the words of a declaration. A value is never part of it."""
    mismatch = _MISMATCH.match(complaint)
    if mismatch is None:
        location = _PLACE.search(complaint)
        where = f"`{location.group(1)}`: " if location else ""
        return RecordError("out_of_range", f"{where}the number does not fit the type")
    expected, actual, path = mismatch.groups()
    if path is None:
        return RecordError("not_an_object", f"expected an object, got {_kind(actual)}")
    return RecordError(
        "wrong_type", f"`{path}`: expected {_kind(expected.removesuffix(' | null'))}, got {_kind(actual)}"
    )


def _kind(name: str) -> str:
    return _KINDS.get(name, name)
