"""What a derived table's seal says beyond its inputs: how it was computed, from what exactly, and what came out.

Flat string keys, without the `lakehouse.` prefix that the seal adds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from lakehouse import seal_keys
from lakehouse.proofs.lineage import computations, origins
from lakehouse.proofs.lineage.computations import Computation
from lakehouse.proofs.lineage.origins import Origin
from lakehouse.settings import Parameter

KIND = "derive"
ColumnLineage = Mapping[str, tuple[tuple[str, str], ...]]


@dataclass(frozen=True)
class DeriveStatement:
    """The derived table's part of a seal.

    Args:
        mode: `full` or `incremental`; a rebuild of an incremental table is `full`.
        added: rows that the step added.
        total: rows that the table holds now.
        parameters: of what was computed last.
        declared: argument → input, as declared.
        scanned: table → snapshot that Spark's plan reads (`spark_plan/trace.py`); 0 where the plan names none.
        dates: input → runtime date; empty if it is dateless.
        partition: what was computed: partition keys, ranges of them as `first..last`; empty for the whole table.
        partitioned_by: what partition keys mean, such as `day(bought_at)`; empty if the table has no partitions.
        computed_by: which partitions were computed for which date and with which parameters, by this run or before;
            the newest last.
        computed_from: which partitions were computed from which snapshots, by this run or before; the newest last.
        follows: the input of which an incremental table reads each row once; empty where it is computed in full.
        differs: why inputs may disagree, where they do.
        replaces_newer: why newer rows may be replaced, where they were; empty where none were.
        column_lineage: column → the columns (table, column) that it is computed from.
        rules: contract rule → severity, and how many rows broke it.
    """

    mode: str
    added: int
    total: int
    parameters: Mapping[str, Parameter] = field(default_factory=dict[str, Parameter])
    declared: Mapping[str, str] = field(default_factory=dict[str, str])
    scanned: Mapping[str, int] = field(default_factory=dict[str, int])
    dates: Mapping[str, str] = field(default_factory=dict[str, str])
    partition: tuple[str, ...] = ()
    partitioned_by: str = ""
    computed_by: tuple[Computation, ...] = ()
    computed_from: tuple[Origin, ...] = ()
    follows: str = ""
    differs: str = ""
    replaces_newer: str = ""
    column_lineage: ColumnLineage = field(default_factory=dict[str, tuple[tuple[str, str], ...]])
    rules: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def to_keys(self) -> dict[str, str]:
        """The statement as flat keys."""
        return {
            seal_keys.DERIVED_MODE: self.mode,
            seal_keys.DERIVED_ADDED: str(self.added),
            seal_keys.DERIVED_TOTAL: str(self.total),
            seal_keys.DERIVED_PARAMETERS: _json(self.parameters),
            seal_keys.DERIVED_DECLARED: _json(self.declared),
            seal_keys.DERIVED_SCANNED: _json(self.scanned),
            seal_keys.DERIVED_DATES: _json(self.dates),
            seal_keys.DERIVED_PARTITION: _json(self.partition),
            seal_keys.DERIVED_PARTITIONED_BY: self.partitioned_by,
            seal_keys.DERIVED_COMPUTED_BY: _json(self.computed_by),
            seal_keys.DERIVED_COMPUTED_FROM: _json(self.computed_from),
            seal_keys.DERIVED_FOLLOWS: self.follows,
            seal_keys.DERIVED_DIFFERS: self.differs,
            seal_keys.DERIVED_REPLACES_NEWER: self.replaces_newer,
            seal_keys.DERIVED_COLUMN_LINEAGE: _json(self.column_lineage),
            seal_keys.QUALITY_RULES: _json(self.rules),
        }

    @classmethod
    def from_keys(cls, keys: Mapping[str, str]) -> "DeriveStatement | None":
        """Read a statement back, or None where the keys are not about a derived table."""
        if seal_keys.DERIVED_MODE not in keys:
            return None
        return cls(
            mode=keys[seal_keys.DERIVED_MODE],
            added=int(keys[seal_keys.DERIVED_ADDED]),
            total=int(keys[seal_keys.DERIVED_TOTAL]),
            parameters=msgspec.json.decode(keys[seal_keys.DERIVED_PARAMETERS], type=dict[str, Parameter]),
            declared=msgspec.json.decode(keys[seal_keys.DERIVED_DECLARED], type=dict[str, str]),
            scanned=msgspec.json.decode(keys[seal_keys.DERIVED_SCANNED], type=dict[str, int]),
            dates=msgspec.json.decode(keys[seal_keys.DERIVED_DATES], type=dict[str, str]),
            partition=tuple(msgspec.json.decode(keys[seal_keys.DERIVED_PARTITION], type=list[str])),
            partitioned_by=origins.keyed_in(keys),
            computed_by=computations.computations_in(keys),
            computed_from=origins.origins_in(keys),
            follows=origins.follows_in(keys),
            differs=keys[seal_keys.DERIVED_DIFFERS],
            replaces_newer=keys.get(seal_keys.DERIVED_REPLACES_NEWER, ""),
            column_lineage=msgspec.json.decode(
                keys[seal_keys.DERIVED_COLUMN_LINEAGE], type=dict[str, tuple[tuple[str, str], ...]]
            ),
            rules=msgspec.json.decode(keys[seal_keys.QUALITY_RULES], type=dict[str, Any]),
        )


def _json(value: object) -> str:
    ordered = dict(sorted(value.items())) if isinstance(value, Mapping) else value
    return msgspec.json.encode(ordered).decode()
