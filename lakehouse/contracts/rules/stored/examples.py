"""What is shown of a row that breaks a rule: the value, and the key by which a person finds the row.

Never anything of a sensitive column: neither its values nor, by their order, which of them is the greatest.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyspark.sql.types as spark
from pyspark.sql import Column as Expression
from pyspark.sql import functions as f

from lakehouse.contracts.rules.stored.expressions import named
from lakehouse.contracts.rules.stored.questions import ColumnRule
from lakehouse.contracts.short_text import LONGEST, short_text
from lakehouse.declarations import Column, Table

_TEXTS = "texts"


@dataclass(frozen=True)
class ExampleColumns:
    """Which columns of a failing row are shown.

    Attributes:
        value: the column that breaks the rule; None where nothing of it may be or can be shown.
        key: the columns of the table's key that may be shown.
    """

    value: Column | None
    key: tuple[Column, ...]

    @classmethod
    def of(cls, question: ColumnRule, declared: Table) -> "ExampleColumns":
        """What may be shown of a row that breaks this rule."""
        hidden = question.column.sensitive or question.condition is None
        key = [column for column in shown_columns(declared, declared.key) if column.name != question.column.name]
        return cls(None if hidden else question.column, tuple(key))

    def __bool__(self) -> bool:
        """Whether there is anything to show."""
        return self.value is not None or bool(self.key)

    @property
    def sorted_row(self) -> Expression:
        """The columns, by which rows are sorted, and their texts."""
        columns = [*([self.value] if self.value else []), *self.key]
        sorted_by = [named(column.name).alias(f"by {n}") for n, column in enumerate(columns)]
        return f.struct(*sorted_by, texts_of(columns).alias(_TEXTS))

    def in_words(self, least: Any, greatest: Any) -> tuple[str, ...]:
        """The two rows in words; one if they are the same, none if nobody breaks the rule."""
        rows = dict.fromkeys(tuple(row[_TEXTS]) for row in (least, greatest) if row is not None)
        return tuple(self._described(list(texts)) for texts in rows)

    def _described(self, texts: list[str | None]) -> str:
        value = f"{self.value.name}={short_text(texts.pop(0))}" if self.value else ""
        key = describe_row(self.key, texts)
        return f"{value} ({key})" if value and key else value or key


def shown_columns(declared: Table, names: tuple[str, ...]) -> list[Column]:
    """Those of some columns whose values may be seen."""
    return [column for column in map(declared.column, names) if not column.sensitive]


def text(column: Column) -> Expression:
    """A value as a text of limited length."""
    value = named(column.name)
    plain = f.base64(value) if isinstance(column.type, spark.BinaryType) else value.cast("string")
    return f.substring(plain, 1, LONGEST + 1)


def texts_of(columns: Sequence[Column]) -> Expression:
    """Values as an array of texts."""
    return f.array(*map(text, columns)).cast("array<string>")


def describe_row(columns: Sequence[Column], texts: Sequence[str | None]) -> str:
    """Columns with their values."""
    return ", ".join(f"{column.name}={short_text(value)}" for column, value in zip(columns, texts, strict=True))
