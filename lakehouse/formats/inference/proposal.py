"""A column as it would be declared, and the text of a declaration of such columns: for a person to look at."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pyspark.sql.types as spark

from lakehouse.declarations.columns.names import COORDINATE_NAMES, RESERVED_NAMES

_TYPES = re.compile(r"\b[A-Z][A-Za-z]+Type\b|\bStructField\b")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Proposal:
    """A column as it would be declared.

    Attributes:
        name: of the column.
        type: None where no column can hold it.
        nullable: whether a record may have none, or null.
        alias: what messages call it, where that is no name of a column, or the name of another one but for its case.
        remark: what a person should look at.
    """

    name: str
    type: spark.DataType | None
    nullable: bool
    alias: str = ""
    remark: str = ""


class ProposedNames:
    """Gives each field of a record a column of its own. Spark ignores case, so of two such names one gets another."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def column(self, source: str, kind: spark.DataType, *, nullable: bool, remark: str = "") -> Proposal:
        """The column of a field.

        Args:
            source: what messages call it.
            kind: its type.
            nullable: whether a record may have none.
            remark: what a person should look at.
        """
        name = source if is_name(source) else _as_name(source)
        name = f"{name}_value" if name.casefold() in RESERVED_NAMES | {*COORDINATE_NAMES} else name
        base, number = name, 2
        if name.casefold() in self._taken:
            clash = "another field has this name but for its case"
            remark = f"{clash}; {remark}" if remark else clash
        while name.casefold() in self._taken:
            name, number = f"{base}_{number}", number + 1
        self._taken.add(name.casefold())
        return Proposal(name, kind, nullable, "" if name == source else source, remark)


def is_name(text: str) -> bool:
    """Whether it can name a column or a field as it is."""
    return _NAME.fullmatch(text) is not None


def type_text(kind: spark.DataType) -> str:
    """A type as Python text, such as `LongType()` or `ArrayType(StringType())`."""
    match kind:
        case spark.StructType():
            parts = [
                f'StructField("{f.name}", {type_text(f.dataType)}{"" if f.nullable else ", nullable=False"})'
                for f in kind.fields
            ]
            return f"StructType([{', '.join(parts)}])"
        case spark.ArrayType():
            return f"ArrayType({type_text(kind.elementType)}{'' if kind.containsNull else ', containsNull=False'})"
        case spark.MapType():
            no_null = "" if kind.valueContainsNull else ", valueContainsNull=False"
            return f"MapType({type_text(kind.keyType)}, {type_text(kind.valueType)}{no_null})"
        case spark.DecimalType():
            return f"DecimalType({kind.precision}, {kind.scale})"
        case _:
            return f"{type(kind).__name__}()"


def _as_name(source: str) -> str:
    name = re.sub(r"[^A-Za-z0-9]+", "_", source).strip("_") or "field"
    return name if name[0].isalpha() else f"f_{name}"


def declaration_text(
    table: str, topic: str, stream: str, columns: Sequence[Proposal], origin: str, form: str, unique: Sequence[str] = ()
) -> str:
    """The text of a file that declares a table and the stream that fills it.

    Args:
        table: `namespace.table`.
        topic: that the stream reads.
        stream: its name.
        columns: of the table; those without a type are remarks.
        origin: where the columns are from, for the reader of the file.
        form: the stream's format as Python text; empty for JSON.
        unique: columns of which no value came twice.
    """
    name = table.partition(".")[2]
    model = "".join(part.capitalize() for part in name.split("_"))
    types = sorted({word for c in columns for word in _TYPES.findall(type_text(c.type) if c.type else "")})
    imported = sorted({"Stream", "Table", "ToTable", *re.findall(r"\b[A-Z]\w+(?=\()", form)}, key=str.casefold)
    lines = [
        f'"""Proposed by `lakehouse infer` from {origin}: look at each line before you apply it."""',
        "",
        "import pandera.pyspark as pa",
        *([f"from pyspark.sql.types import {', '.join(types)}"] if types else []),
        "",
        f"from lakehouse import {', '.join(imported)}",
        "",
        "",
        f"class {model}(pa.DataFrameModel):",
        *(_line(column) for column in columns),
        "",
        "",
        f"{name} = Table(",
        f'    name="{table}",',
        f"    schema={model},",
        f'    description="Records of topic {topic}.",',
        '    owner="team:unknown",',
        *(f'    # key=("{column}",),  # if no value ever comes twice: none did' for column in unique),
        ")",
        f"{stream}_stream = Stream(",
        f'    name="{stream}",',
        f'    topic="{topic}",',
        f'    route=ToTable("{table}"),',
        *([f"    format={form},"] if form else []),
        ")",
    ]
    return "\n".join(lines) + "\n"


def _line(column: Proposal) -> str:
    remark = f"  # {column.remark}" if column.remark else ""
    if column.type is None:
        return f"    # {column.alias or column.name}: left out,{remark.removeprefix('  #')}"
    nullable = "nullable=True, " if column.nullable else ""
    alias = f', metadata={{"alias": {column.alias!r}}}' if column.alias else ""
    return f'    {column.name}: {type_text(column.type)} = pa.Field({nullable}description=""{alias}){remark}'
