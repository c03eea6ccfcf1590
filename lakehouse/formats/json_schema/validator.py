"""Whether a record is valid against a JSON Schema: drafts 4, 6, 7, 2019-09 and 2020-12, by the library `jsonschema_rs`.

Verdicts are those of `jsonschema`, the reference in Python, which is a hundred times slower. Three things differ, and
are meant: `multipleOf` is reckoned in decimals and not in doubles, so 4.35 is a multiple of 0.01; patterns are regular
expressions without look-around and back-references, which take linear time; and `$` is the end of the text alone.
`format` is a remark and no rule, as in the reference.
"""

from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

import msgspec

from lakehouse.formats.json_schema.recursion import endless
from lakehouse.formats.schema_errors import SchemaUnusable
from lakehouse.formats.verdict import RecordError

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

NO_ID = "https://json-schema.invalid/"
"""What a schema is called that does not say its `$id`; what it refers to is beside it."""
MOST_CHARACTERS = 200
_MASK = "the value"


class JsonSchemaValidator:
    """Judges records by one schema."""

    def __init__(self, text: str, references: tuple[tuple[str, str], ...] = ()) -> None:
        """Compiles a schema. Nothing is fetched: what it refers to is in it, or among the references.

        Args:
            text: the schema.
            references: name and text of those that it refers to.

        Raises:
            SchemaUnusable: it is none, refers to one that is not there, or refers to itself without end.
        """
        import jsonschema_rs

        schema = _parsed(text, "the schema")
        base = str(schema.get("$id") or schema.get("id") or NO_ID) if isinstance(schema, dict) else NO_ID
        others = {urljoin(base, name): _parsed(other, f"the schema {name}") for name, other in references}
        if circle := endless(schema, base, others):
            raise SchemaUnusable(f"it refers to itself without end, at {circle}.", remedy="correct the schema.")
        try:
            self._validator = jsonschema_rs.validator_for(
                schema,
                registry=jsonschema_rs.Registry(list(others.items())) if others else None,
                base_uri=base,
                validate_formats=False,
                pattern_options=jsonschema_rs.RegexOptions(),
                mask=_MASK,
                offline=True,
            )
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
            raise SchemaUnusable(
                f"it is no usable JSON Schema ({_first_line(error)}).", remedy="correct the schema."
            ) from None

    def check(self, record: bytes) -> RecordError | None:
        """Why a record is not valid; nothing where it is.

        Args:
            record: JSON in UTF-8, nested 250 levels at most.
        """
        try:
            value: Any = msgspec.json.decode(record)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            return RecordError("not_json", str(error))
        if self._validator.is_valid(value):
            return None
        return _explained(next(self._validator.iter_errors(value)))


def _parsed(text: str, what: str) -> Any:
    try:
        schema = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise SchemaUnusable(f"{what} is no JSON ({error}).", remedy="correct it.") from None
    if not isinstance(schema, dict | bool):
        raise SchemaUnusable(f"{what} is neither an object nor true or false.", remedy="correct it.")
    return schema


def _explained(error: "ValidationError") -> RecordError:
    """Which rule a record breaks, and where; its values are hidden."""
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.instance_path).lstrip(".")
    where = f"`{path[:MOST_CHARACTERS]}`: " if path else ""
    return RecordError("breaks_schema", f"{where}{_first_line(error)}")


def _first_line(error: Exception) -> str:
    message = str(getattr(error, "message", "") or error).partition("\n")[0]
    return message if len(message) <= MOST_CHARACTERS else f"{message[:MOST_CHARACTERS]}…"
