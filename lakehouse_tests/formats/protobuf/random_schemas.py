"""Random message types with the columns that they fill, and messages of them, as Google's own library has them."""

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
from google.protobuf import duration_pb2, timestamp_pb2, wrappers_pb2
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet
from hypothesis import strategies as st

F = FieldDescriptorProto
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
_LIBRARIES = (timestamp_pb2, duration_pb2, wrappers_pb2)


def _int(bits: int, *, signed: bool = True) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else st.integers(0, 2**bits - 1)


@dataclass(frozen=True)
class Simple:
    """A type of a single value.

    Attributes:
        kind: Protobuf's.
        column: what it fills.
        values: what the library takes,
        shown: and what a row has of that.
        type_name: of an enum or a message.
        zero: what an absent field is, where its absence cannot be seen.
    """

    kind: int
    column: pa.DataType
    values: st.SearchStrategy[Any]
    shown: Callable[[Any], Any] = lambda value: value
    type_name: str = ""
    zero: Any = 0


def _moment(moment: dt.datetime) -> timestamp_pb2.Timestamp:
    since = moment - _EPOCH
    return timestamp_pb2.Timestamp(seconds=since // dt.timedelta(seconds=1), nanos=since.microseconds * 1000 + 999)


def _length(nanos: int) -> duration_pb2.Duration:
    seconds, rest = divmod(abs(nanos), 10**9)
    sign = -1 if nanos < 0 else 1
    return duration_pb2.Duration(seconds=sign * seconds, nanos=sign * rest)


SIMPLE = [
    *(Simple(kind, pa.int32(), _int(32)) for kind in (F.TYPE_INT32, F.TYPE_SINT32, F.TYPE_SFIXED32)),
    *(Simple(kind, pa.int64(), _int(64)) for kind in (F.TYPE_INT64, F.TYPE_SINT64, F.TYPE_SFIXED64)),
    *(Simple(kind, pa.int64(), _int(32, signed=False)) for kind in (F.TYPE_UINT32, F.TYPE_FIXED32)),
    *(
        Simple(kind, pa.decimal128(20, 0), _int(64, signed=False), Decimal, zero=0)
        for kind in (F.TYPE_UINT64, F.TYPE_FIXED64)
    ),
    Simple(F.TYPE_UINT64, pa.int64(), st.integers(0, 2**63 - 1)),
    Simple(F.TYPE_INT32, pa.float64(), _int(32), float),
    Simple(F.TYPE_INT32, pa.decimal128(12, 2), _int(32), lambda n: Decimal(n).quantize(Decimal("0.01"))),
    Simple(F.TYPE_BOOL, pa.bool_(), st.booleans(), zero=False),
    Simple(F.TYPE_FLOAT, pa.float32(), st.floats(width=32, allow_nan=False), zero=0.0),
    Simple(F.TYPE_FLOAT, pa.float64(), st.floats(width=32, allow_nan=False), zero=0.0),
    Simple(F.TYPE_DOUBLE, pa.float64(), st.floats(allow_nan=False), zero=0.0),
    Simple(F.TYPE_STRING, pa.string(), _TEXT, zero=""),
    Simple(F.TYPE_STRING, pa.binary(), _TEXT, str.encode, zero=""),
    Simple(F.TYPE_BYTES, pa.binary(), st.binary(max_size=6), zero=b""),
    Simple(F.TYPE_ENUM, pa.string(), st.sampled_from([0, 1, -5]), {0: "ZERO", 1: "ONE", -5: "LESS"}.get, ".r.E"),
    Simple(F.TYPE_ENUM, pa.int32(), st.sampled_from([0, 1, -5]), type_name=".r.E"),
]
MESSAGES = [
    Simple(
        F.TYPE_MESSAGE,
        pa.timestamp("us", "UTC"),
        st.integers(-62_135_596_800_000_000, 253_402_300_799_999_999).map(
            lambda micros: _EPOCH + dt.timedelta(microseconds=micros)
        ),
        type_name=".google.protobuf.Timestamp",
    ),
    Simple(
        F.TYPE_MESSAGE,
        pa.decimal128(21, 9),
        st.integers(-(10**18), 10**18),
        lambda nanos: Decimal(nanos).scaleb(-9),
        ".google.protobuf.Duration",
    ),
    Simple(F.TYPE_MESSAGE, pa.int64(), _int(64), type_name=".google.protobuf.Int64Value"),
    Simple(F.TYPE_MESSAGE, pa.string(), _TEXT, type_name=".google.protobuf.StringValue"),
]
_MADE = {
    ".google.protobuf.Timestamp": _moment,
    ".google.protobuf.Duration": _length,
    ".google.protobuf.Int64Value": lambda value: wrappers_pb2.Int64Value(value=value),
    ".google.protobuf.StringValue": lambda value: wrappers_pb2.StringValue(value=value),
}


@dataclass(frozen=True)
class Field:
    """A field of a message.

    Attributes:
        label: `single`, `optional`, `oneof`, `list` or `map`.
        of: its type, or the type of its items.
    """

    label: str
    of: "Simple | Shape"

    @property
    def column(self) -> pa.DataType:
        if self.label == "list":
            return pa.list_(self.of.column)
        return pa.map_(pa.string(), self.of.column) if self.label == "map" else self.of.column

    @property
    def absence(self) -> bool:
        """Whether a row shows a null where the field is absent."""
        message = isinstance(self.of, Shape) or self.of.kind == F.TYPE_MESSAGE
        return self.label in ("optional", "oneof") or (self.label == "single" and message)

    @property
    def values(self) -> st.SearchStrategy[Any]:
        if self.label == "list":
            return st.lists(self.of.values, max_size=3)
        if self.label == "map":
            return st.dictionaries(_TEXT, self.of.values, max_size=3)
        return st.none() | self.of.values if self.absence else self.of.values

    def shown(self, value: Any) -> Any:
        if self.label == "list":
            return [self.of.shown(item) for item in value]
        if self.label == "map":
            return [(key, self.of.shown(item)) for key, item in sorted(value.items())]
        return None if value is None else self.of.shown(value)


@dataclass(frozen=True)
class Shape:
    """A message type."""

    fields: tuple[Field, ...]

    @property
    def column(self) -> pa.DataType:
        return pa.struct([pa.field(f"f{number}", field.column) for number, field in enumerate(self.fields)])

    @property
    def values(self) -> st.SearchStrategy[dict[str, Any]]:
        return st.fixed_dictionaries({f"f{number}": field.values for number, field in enumerate(self.fields)})

    def shown(self, value: dict[str, Any]) -> dict[str, Any]:
        return {f"f{number}": field.shown(value[f"f{number}"]) for number, field in enumerate(self.fields)}


def _fields_of(inner: st.SearchStrategy[Simple | Shape]) -> st.SearchStrategy[Field]:
    return st.builds(Field, st.sampled_from(["single", "single", "optional", "oneof", "list", "map"]), inner)


_LEAVES: st.SearchStrategy[Simple | Shape] = st.sampled_from([*SIMPLE, *MESSAGES])
SHAPES: st.SearchStrategy[Shape] = st.recursive(
    st.lists(_fields_of(_LEAVES), min_size=1, max_size=5).map(lambda fields: Shape(tuple(fields))),
    lambda inner: st.lists(_fields_of(_LEAVES | inner), min_size=1, max_size=3).map(
        lambda fields: Shape(tuple(fields))
    ),
    max_leaves=4,
)


def compiled_shape(shape: Shape) -> bytes:
    """A descriptor set whose message `r.M0` is of the shape."""
    file = FileDescriptorProto(name="r.proto", package="r", syntax="proto3")
    file.dependency.extend(library.DESCRIPTOR.name for library in _LIBRARIES)
    enum = file.enum_type.add(name="E")
    for name, number in (("ZERO", 0), ("ONE", 1), ("LESS", -5)):
        enum.value.add(name=name, number=number)
    _add(file, shape)
    others = [FileDescriptorProto.FromString(library.DESCRIPTOR.serialized_pb) for library in _LIBRARIES]
    return FileDescriptorSet(file=[*others, file]).SerializeToString()


def _add(file: FileDescriptorProto, shape: Shape) -> str:
    message = file.message_type.add(name=f"M{len(file.message_type)}")
    message_name = message.name
    synthetic: list[F] = []
    for place, field in enumerate(shape.fields):
        name, number = f"f{place}", 2 * place + 1
        kind = F.TYPE_MESSAGE if isinstance(field.of, Shape) else field.of.kind
        type_name = _add(file, field.of) if isinstance(field.of, Shape) else field.of.type_name
        target = _entry(message, message_name, name, number) if field.label == "map" else message
        fd = target.field.add(name=name, number=number, type=kind, label=F.LABEL_OPTIONAL)
        if field.label == "map":
            fd.name, fd.number = "value", 2
        if type_name:
            fd.type_name = type_name
        if field.label == "list":
            fd.label = F.LABEL_REPEATED
        elif field.label == "oneof":
            fd.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name=f"o{place}")
        elif field.label == "optional" and kind != F.TYPE_MESSAGE:
            synthetic.append(fd)
    for fd in synthetic:  # after all real ones
        fd.proto3_optional, fd.oneof_index = True, len(message.oneof_decl)
        message.oneof_decl.add(name=f"_{fd.name}")
    return f".r.{message_name}"


def _entry(message: DescriptorProto, message_name: str, name: str, number: int) -> DescriptorProto:
    entry = message.nested_type.add(name=f"{name.upper()}Entry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, type=F.TYPE_STRING, label=F.LABEL_OPTIONAL)
    type_name = f".r.{message_name}.{entry.name}"
    message.field.add(name=name, number=number, type=F.TYPE_MESSAGE, label=F.LABEL_REPEATED, type_name=type_name)
    return entry


def fill(message: Any, shape: Shape, value: dict[str, Any]) -> Any:
    """Put a value into an empty message of the library."""
    for place, field in enumerate(shape.fields):
        name, content = f"f{place}", value[f"f{place}"]
        nested = isinstance(field.of, Shape) or field.of.kind == F.TYPE_MESSAGE
        if content is None:
            continue
        container = getattr(message, name)
        if field.label == "list":
            for item in content:
                if nested:
                    _put(container.add(), field.of, item)
                else:
                    container.append(item)
        elif field.label == "map":
            for key, item in content.items():
                if nested:
                    _put(container[key], field.of, item)
                else:
                    container[key] = item
        elif nested:
            container.SetInParent()
            _put(container, field.of, content)
        else:
            setattr(message, name, content)
    return message


def _put(message: Any, of: Simple | Shape, value: Any) -> None:
    if isinstance(of, Shape):
        fill(message, of, value)
    else:
        # By bytes: the classes of this schema are not those of the library's own modules.
        message.MergeFromString(_MADE[of.type_name](value).SerializeToString())
