"""Which columns the records of a sample would need: a proposal for a person to look at, never more."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pyspark.sql.types as spark

from lakehouse.formats.inference.proposal import Proposal, ProposedNames, is_name

_LONG, _INT = 2**63, 2**31
_MOST_NAMES = 1000
"""So many fields of an object are remembered; a sender may call them as it likes."""
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_ENOUGH = 20
"""Of fewer records nobody can tell whether a value comes twice."""
MOST_FIELDS = 200
"""Of an object with more fields than a person would declare, its keys are data: it becomes a map."""


_KEYS = (spark.StringType, spark.LongType, spark.IntegerType)


@dataclass
class SampledValues:
    """What the values at one place were.

    Attributes:
        times: how often there was one, null included.
        nulls: how often it was null.
        kinds: what it was otherwise: `bool`, `long`, `double`, `timestamp`, `date`, `string`, `object`, `list`.
        fields: of objects, by their names in messages, in the order in which they came.
        element: of lists.
        large: whether a whole number has more than 32 bits.
    """

    times: int = 0
    nulls: int = 0
    kinds: set[str] = field(default_factory=set[str])
    fields: dict[str, "SampledValues"] = field(default_factory=dict[str, "SampledValues"])
    element: "SampledValues | None" = None
    large: bool = False

    def add(self, value: Any) -> None:
        """Look at one more value."""
        self.times += 1
        match value:
            case None:
                self.nulls += 1
            case dict():
                self.kinds.add("object")
                for name, inner in value.items():
                    if name in self.fields or len(self.fields) < _MOST_NAMES:
                        self.fields.setdefault(name, SampledValues()).add(inner)
            case list():
                self.kinds.add("list")
                self.element = self.element or SampledValues()
                for inner in value:
                    self.element.add(inner)
            case _:
                self.kinds.add(_kind(value))
                self.large |= isinstance(value, int) and not -_INT <= value < _INT

    def merge(self, other: "SampledValues") -> None:
        """Take what another one has seen at the same place."""
        self.times, self.nulls = self.times + other.times, self.nulls + other.nulls
        self.kinds |= other.kinds
        self.large |= other.large
        for name, inner in other.fields.items():
            if name in self.fields or len(self.fields) < _MOST_NAMES:
                self.fields.setdefault(name, SampledValues()).merge(inner)
        if other.element is not None:
            self.element = self.element or SampledValues()
            self.element.merge(other.element)


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "long" if -_LONG <= value < _LONG else "string"
    if isinstance(value, float):
        return "double"
    text = str(value)
    return "timestamp" if _TIMESTAMP.fullmatch(text) else "date" if _DATE.fullmatch(text) else "string"


@dataclass(frozen=True)
class Inferred:
    """What a sample says.

    Attributes:
        columns: in the order in which messages have them.
        records: that were looked at, and were objects.
        others: that were none: no JSON, no object, no value.
        unique: columns of text or whole numbers of which each record had another value.
    """

    columns: tuple[Proposal, ...]
    records: int
    others: int
    unique: tuple[str, ...] = ()


def infer(values: Iterable[bytes | None]) -> Inferred:
    """Look through values of JSON."""
    whole, others, distinct = SampledValues(), 0, dict[str, set[str | int]]()
    for value in values:
        try:
            record = None if value is None else msgspec.json.decode(value)
        except msgspec.MsgspecError:
            record = None
        if isinstance(record, dict):
            whole.add(record)
            for name, inner in record.items():
                if isinstance(inner, str | int) and not isinstance(inner, bool):
                    distinct.setdefault(name, set()).add(inner)
        else:
            others += 1
    columns = columns_of_fields(whole.fields, whole.times)
    unique = [
        column.name
        for source, column in zip(whole.fields, columns, strict=True)
        if whole.times >= _ENOUGH and len(distinct.get(source, ())) == whole.times and isinstance(column.type, _KEYS)
    ]
    return Inferred(columns, whole.times, others, tuple(unique))


def columns_of_fields(fields: Mapping[str, SampledValues], records: int) -> tuple[Proposal, ...]:
    """A column for each field of so many records."""
    names, columns = ProposedNames(), list[Proposal]()
    for source, seen in fields.items():
        kind, remark = type_of(seen)
        nullable = seen.nulls > 0 or seen.times < records or not seen.kinds
        columns.append(names.column(source, kind, nullable=nullable, remark=remark))
    return tuple(columns)


def type_of(seen: SampledValues) -> tuple[spark.DataType, str]:
    """The type, and what a person should look at."""
    kinds = seen.kinds
    if not kinds:
        return spark.StringType(), "only null was seen"
    if kinds == {"object"}:
        return _struct(seen)
    if kinds == {"list"}:
        element, remark = type_of(seen.element or SampledValues())
        has_null = seen.element is None or seen.element.nulls > 0 or not seen.element.kinds
        return spark.ArrayType(element, has_null), remark
    if kinds <= {"long", "double"}:
        return (spark.DoubleType() if "double" in kinds else spark.LongType()), ""
    if len(kinds) > 1:
        seen_kinds = f"{' and '.join(sorted(kinds))} were seen"
        is_text = kinds <= {"date", "timestamp", "string"}
        return (
            spark.StringType(),
            f"as text: {seen_kinds}" if is_text else f"{seen_kinds}, of which a record has to be one",
        )
    return {
        "bool": spark.BooleanType(),
        "timestamp": spark.TimestampType(),
        "date": spark.DateType(),
        "string": spark.StringType(),
    }[next(iter(kinds))], ""


def merged_values(seen: SampledValues) -> SampledValues:
    """What the values of all fields of an object were together: its keys are data."""
    merged = SampledValues()
    for inner in seen.fields.values():
        merged.merge(inner)
    return merged


def _struct(seen: SampledValues) -> tuple[spark.DataType, str]:
    objects = seen.times - seen.nulls
    unnamed = [name for name in seen.fields if not is_name(name)]
    folded = {name.casefold() for name in seen.fields}
    if not seen.fields or unnamed or len(folded) < len(seen.fields) or len(seen.fields) > MOST_FIELDS:
        value, _ = type_of(merged_values(seen))
        return spark.MapType(spark.StringType(), value), "a map, as its keys are no names of columns"
    parts: list[spark.StructField] = []
    remarks: list[str] = []
    for name, inner in seen.fields.items():
        kind, remark = type_of(inner)
        nullable = inner.nulls > 0 or inner.times < objects or not inner.kinds
        parts.append(spark.StructField(name, kind, nullable))
        remarks += [f"{name}: {remark}"] if remark else []
    return spark.StructType(parts), "; ".join(remarks)
