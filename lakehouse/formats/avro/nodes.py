"""A writer's schema as a tree: names resolved, and refused where no limit would hold for what it describes.

Names, namespaces and references are fastavro's business; what is kept here is what bytes and columns need to know.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import fastavro.schema
import msgspec
from fastavro.schema import SchemaParseException, UnknownType

from lakehouse.formats.schema_errors import SchemaUnusable

MAX_BYTES = 1 << 20
"""A longer text is no schema that somebody wrote."""
MAX_NODES = 10_000
"""With every named type written out where it is used: types that use each other twice grow by powers of two."""
MAX_DEPTH = 64

_PRIMITIVES = frozenset({"null", "boolean", "int", "long", "float", "double", "bytes", "string"})
_TIMESTAMPS = ("timestamp-millis", "timestamp-micros", "timestamp-nanos")
_LOGICAL: Mapping[tuple[str, int], frozenset[str]] = {
    ("int", 0): frozenset({"date", "time-millis"}),
    ("long", 0): frozenset({"time-micros", *_TIMESTAMPS, *(f"local-{name}" for name in _TIMESTAMPS)}),
    ("string", 0): frozenset({"uuid"}),
    ("fixed", 16): frozenset({"uuid"}),
    ("fixed", 12): frozenset({"duration"}),
}


@dataclass(frozen=True)
class AvroType:
    """A type of a writer's schema.

    Attributes:
        kind: the Avro type; `record`, `enum`, `array`, `map`, `union` and `fixed` have the parts that they need.
        logical: the logical type, where the specification allows it for this type; otherwise it is passed over.
        name: the last part of the name of a named type, for unions.
        parts: items of an array, values of a map, branches of a union.
        fields: of a record: name → type, in the order of the bytes.
        symbols: of an enum.
        size: of a fixed, in bytes.
        precision: of a decimal,
        scale: and its decimals.
        defaults: field → default, in JSON, of those that have one,
        aliases: field → its other names; both count where this is the reader's schema.
    """

    kind: str
    logical: str = ""
    name: str = ""
    parts: tuple["AvroType", ...] = ()
    fields: tuple[tuple[str, "AvroType"], ...] = ()
    symbols: tuple[str, ...] = ()
    size: int = 0
    precision: int = 0
    scale: int = 0
    defaults: Mapping[str, Any] = field(default_factory=dict[str, Any])
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    @property
    def branch(self) -> str:
        """What a union calls it."""
        return self.name or self.kind

    @property
    def least_bytes(self) -> int:
        """How many bytes a value has at least."""
        match self.kind:
            case "null":
                return 0
            case "float":
                return 4
            case "double":
                return 8
            case "fixed":
                return self.size
            case "record":
                return sum(node.least_bytes for _, node in self.fields)
            case _:
                return 1


def parse_writer_schema(*texts: str) -> AvroType:
    """The tree of a schema.

    Args:
        texts: JSON, as in an `.avsc` file or from a registry; schemas that it refers to stand before it.

    Raises:
        SchemaUnusable: it is no Avro schema, is too large, contains itself, or has a list whose items take no bytes, so
            that a record of ten bytes could hold as many as there are numbers.
    """
    if sum(map(len, texts)) > MAX_BYTES:
        raise SchemaUnusable(f"the schema has more than {MAX_BYTES >> 20} MiB", remedy="use a smaller one.")
    try:
        named: dict[str, Any] = {}
        parsed: Any = None
        for text in texts:
            parsed = fastavro.schema.parse_schema(msgspec.json.decode(text), named_schemas=named, _force=True)
    except (msgspec.DecodeError, SchemaParseException, UnknownType, ValueError, TypeError, KeyError) as error:
        raise SchemaUnusable(f"it is no Avro schema ({_shown(error)})", remedy="correct the schema.") from error
    except RecursionError:
        raise SchemaUnusable(
            f"the schema is nested more than {MAX_DEPTH} levels deep", remedy="use a flatter one."
        ) from None
    return _Builder(named).node(parsed, (), 0)


class _Builder:
    def __init__(self, named: dict[str, Any]) -> None:
        self._named = named
        self._nodes = 0

    def node(self, schema: Any, within: tuple[str, ...], depth: int) -> AvroType:  # noqa: PLR0911 # one return a type
        self._nodes += 1
        if self._nodes > MAX_NODES or depth > MAX_DEPTH:
            limit = f"{MAX_NODES:,} types" if self._nodes > MAX_NODES else f"{MAX_DEPTH} levels"
            raise SchemaUnusable(f"the schema has more than {limit}, written out", remedy="use a smaller one.")
        if isinstance(schema, list):
            branches = tuple(self.node(branch, within, depth + 1) for branch in cast("list[Any]", schema))
            return AvroType("union", parts=branches)
        if isinstance(schema, str):
            return (
                AvroType(schema) if schema in _PRIMITIVES else self.node(self._reference(schema, within), within, depth)
            )
        kind = schema["type"]
        if kind in ("record", "error"):
            return self._record(schema, (*within, schema["name"]), depth)
        if kind in ("array", "map"):
            part = self.node(schema["items" if kind == "array" else "values"], within, depth + 1)
            if kind == "array" and part.least_bytes == 0:
                raise SchemaUnusable("it has an array whose items take no bytes", remedy="give the items a value.")
            return AvroType(kind, parts=(part,))
        if kind == "enum":
            return AvroType("enum", name=_last(schema["name"]), symbols=tuple(schema["symbols"]))
        if kind == "fixed" or kind in _PRIMITIVES:
            return _logical(schema, kind)
        return self.node(kind, within, depth + 1)

    def _reference(self, name: str, within: tuple[str, ...]) -> Any:
        if name in within:
            raise SchemaUnusable(
                f"the type {name} contains itself, which no table can hold", remedy="write such records as JSON text."
            )
        return self._named[name]

    def _record(self, schema: Any, within: tuple[str, ...], depth: int) -> AvroType:
        fields = tuple((entry["name"], self.node(entry["type"], within, depth + 1)) for entry in schema["fields"])
        defaults = {entry["name"]: entry["default"] for entry in schema["fields"] if "default" in entry}
        aliases = {entry["name"]: tuple(entry["aliases"]) for entry in schema["fields"] if entry.get("aliases")}
        return AvroType("record", name=_last(schema["name"]), fields=fields, defaults=defaults, aliases=aliases)


def _logical(schema: Any, kind: str) -> AvroType:
    """A type with its logical type; one that the specification does not allow there counts as none."""
    logical, size = str(schema.get("logicalType", "")), schema.get("size", 0) if kind == "fixed" else 0
    if not isinstance(size, int) or size < 0:
        raise SchemaUnusable("a fixed has a size that is no number of bytes", remedy="correct the schema.")
    name = _last(schema["name"]) if kind == "fixed" else ""
    if logical == "decimal" and kind in ("bytes", "fixed"):
        precision, scale = schema.get("precision", 0), schema.get("scale", 0)
        if isinstance(precision, int) and isinstance(scale, int) and 0 <= scale <= precision and precision > 0:
            return AvroType(kind, "decimal", name, size=size, precision=precision, scale=scale)
    allowed = _LOGICAL.get((kind, size) if kind == "fixed" else (kind, 0), frozenset[str]())
    return AvroType(kind, logical if logical in allowed else "", name, size=size)


def _last(name: str) -> str:
    return name.rsplit(".", 1)[-1]


def _shown(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:300]
