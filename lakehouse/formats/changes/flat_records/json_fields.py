"""Fields that tell of a change, from their JSON: texts, times and whole numbers."""

from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute

from lakehouse.formats.changes.facts import Bools, Ints, bools
from lakehouse.formats.changes.times import micros_of_millis, micros_of_text

pc: Any = pyarrow.compute  # its functions are made at import, unknown to type checkers


def canonical(text: pa.StringArray) -> pa.StringArray:
    """JSON strings without needless escapes."""
    if not bools(pc.match_substring(text, "\\")).any():
        return text
    return pa.array(
        [msgspec.json.encode(msgspec.json.decode(x)).decode() if x and x[0] == '"' else x for x in text.to_pylist()],
        pa.string(),
    )


def text_of_json(text: pa.StringArray | None, count: int) -> pa.StringArray:
    """JSON of texts or numbers as text."""
    if text is None:
        return pa.nulls(count, pa.string())
    if bools(pc.match_substring(text, "\\")).any():
        return pa.array([msgspec.json.decode(x) if x and x[0] == '"' else x for x in text.to_pylist()], pa.string())
    return pc.replace_substring_regex(text, '^"(.*)"$', r"\1")


def time_of_json(text: pa.StringArray | None, count: int) -> pa.Int64Array:
    """Milliseconds, or ISO 8601."""
    if text is None:
        return pa.nulls(count, pa.int64())
    numbers = pc.if_else(pc.match_substring_regex(text, "^-?[0-9]{1,18}$"), text, pa.scalar(None, pa.string()))
    quoted = pc.if_else(pc.starts_with(text, '"'), text, pa.scalar(None, pa.string()))
    return pc.coalesce(micros_of_millis(numbers.cast(pa.int64())), micros_of_text(text_of_json(quoted, count)))


def whole_numbers(text: pa.StringArray) -> tuple[Ints, Bools]:
    """Numbers from 0 on, and which of the texts are such a number."""
    fits = pc.match_substring_regex(text, "^[0-9]{1,18}$")
    numbers = pc.if_else(pc.fill_null(fits, False), text, "0").cast(pa.int64())
    return numbers.to_numpy(), bools(fits)
