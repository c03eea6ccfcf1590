"""What a table has to become so that it takes its records, by its policy: a pure function of columns and fields."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pyspark.sql.types as spark

from lakehouse.declarations import Table
from lakehouse.declarations.columns.column import Column
from lakehouse.declarations.policies.evolution import MOST_SECOND_COLUMNS, Evolution
from lakehouse.declarations.schema_changes.merging import Merging, optional
from lakehouse.formats.evolution.json_fields import SourceField
from lakehouse.formats.inference.proposal import ProposedNames

_SHORT = {"integer": "int", "timestamp_ntz": "local_timestamp"}


@dataclass
class Following:
    """A table on its way.

    Attributes:
        table: as it is by now, with a policy.
        columns: as they have to be.
        conflicts: path of a field → why it does not fit, of records that were refused.
        remarks: what a person should know of a change.
    """

    table: Table
    columns: list[Column] = field(default_factory=list[Column])
    conflicts: dict[str, str] = field(default_factory=dict[str, str])
    remarks: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        """Begins with the columns that are there."""
        self.columns = list(self.table.own_columns)

    @property
    def policy(self) -> Evolution:
        """Of the table."""
        assert self.table.evolution is not None
        return self.table.evolution

    @property
    def wanted(self) -> Table:
        """The table as it has to be."""
        return replace(self.table, schema=tuple(self.columns))

    def follow(self, fields: Sequence[SourceField], *, refused: bool, adds: bool) -> None:
        """Take the fields of some records.

        Args:
            fields: all that they have.
            refused: whether some of these records are no rows: then a type that does not fit matters.
            adds: whether fields that are no columns become some.
        """
        places: dict[str, int] = {}
        for place, column in enumerate(self.columns):
            if not column.record:
                places.setdefault(column.source_name, place)
        for source in fields:
            if source.name in places:
                self._meet(places[source.name], source, refused=refused)
            elif adds and self.policy.add and source.type is not None:
                self._add(source, source.type)
        if refused:
            present = {source.name for source in fields}
            for name, place in places.items():
                if name not in present:
                    self._relax(place, because="records lack it")

    def _meet(self, place: int, source: SourceField, *, refused: bool) -> None:
        column, policy = self.columns[place], self.policy
        if source.nullable and refused:
            self._relax(place, because="records have null there")
            column = self.columns[place]
        if source.type is None:
            return
        merging = Merging(policy.add, policy.widen, policy.make_optional)
        kind = merging.merged(column.type, source.type, column.name)
        self.remarks += [f"{path}: its name differs in case alone, or can be no field's" for path in merging.twins]
        if not merging.conflicts:
            self.columns[place] = replace(column, type=kind)
        elif refused and not self._second(place, source.type):
            self.conflicts.update(merging.conflicts)

    def _relax(self, place: int, *, because: str) -> None:
        column = self.columns[place]
        if not column.required:
            return
        if self.policy.make_optional and column.name not in self.table.key:
            self.columns[place] = replace(column, required=False)
        else:
            self.conflicts[column.name] = f"required, and {because}"

    def _second(self, place: int, kind: spark.DataType) -> bool:
        """Have another column take what the first one does not; whether there is one."""
        first = self.columns[place]
        if self.policy.otherwise != "second_column" or first.name in self.table.key or first.type == kind:
            return False
        others = [n for n, c in enumerate(self.columns) if n != place and c.source_name == first.source_name]
        for number in others:
            merging = Merging(self.policy.add, self.policy.widen, self.policy.make_optional)
            merged = merging.merged(self.columns[number].type, kind, self.columns[number].name)
            if not merging.conflicts:
                self.columns[number] = replace(self.columns[number], type=merged)
                return True
        if self._seconds >= MOST_SECOND_COLUMNS or len(self.columns) >= self.policy.most_columns:
            return False
        name = kind.typeName()
        source = SourceField(f"{first.name}_{_SHORT.get(name, name.partition('(')[0])}", kind, nullable=True)
        self._add(source, kind, followed=first.source_name)
        if first.required:
            self.columns[place] = replace(first, required=False)
        self.remarks.append(f"{self.columns[-1].name}: values of `{first.source_name}` that {first.name} does not take")
        return True

    @property
    def _seconds(self) -> int:
        sources = [column.source_name for column in self.columns if not column.record]
        return len(sources) - len({*sources})

    def _add(self, source: SourceField, kind: spark.DataType, *, followed: str = "") -> None:
        if len(self.columns) >= self.policy.most_columns:
            self.remarks.append(f"{source.name}: not added, as the table has {len(self.columns)} columns")
            return
        names = ProposedNames()
        for column in self.columns:
            names.column(column.name, column.type, nullable=True)
        proposed = names.column(source.name, kind, nullable=True)
        if proposed.remark and not followed:
            self.remarks.append(f"{proposed.name}: for `{source.name}`, as {proposed.remark}")
        field_name = followed or source.name
        self.columns.append(
            Column(
                proposed.name,
                optional(kind),
                required=False,
                sensitive=True,
                alias="" if field_name == proposed.name else field_name,
                followed=field_name,
            )
        )
