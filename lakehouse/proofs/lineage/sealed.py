"""What the step said that made a snapshot's content, as far as the table still knows."""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec
from pyiceberg.table import Table

from lakehouse import seal_keys
from lakehouse.iceberg.names import table_name
from lakehouse.proofs.lineage.computations import computations_in
from lakehouse.proofs.lineage.origins import origins_in
from lakehouse.protocol.commit.conflict_check import MAINTENANCE
from lakehouse.protocol.errors import SealBroken
from lakehouse.protocol.seals.base import Base
from lakehouse.protocol.seals.history import Sealed, ancestry, summary_of
from lakehouse.protocol.seals.seal import Seal

DERIVE = "derive"
_EMPTY = "{}"


@dataclass(frozen=True)
class Made:
    """How a snapshot came about.

    Args:
        sealed: what the step said; None where nobody said anything.
        known: whether that is the whole truth. False where the way to the seal leads through snapshots whose entries
            have expired, so that there may have been one.
    """

    sealed: Sealed | None
    known: bool

    @property
    def seal(self) -> Seal | None:
        """The statement alone."""
        return self.sealed.seal if self.sealed else None


def made(table: Table, snapshot_id: int | None) -> Made:
    """The newest seal at or before a snapshot; one of maintenance only where that of the step itself has gone.

    Raises:
        SealBroken: it was changed after it was written, or what it says of lineage cannot be read.
    """
    stand_in: Sealed | None = None
    parent = snapshot_id
    for snapshot in ancestry(table, snapshot_id):
        parent = snapshot.parent_snapshot_id
        where = f"{table_name(table)} snapshot {snapshot.snapshot_id}"
        seal = Seal.from_summary(summary_of(snapshot), where=where)
        if seal is None:
            continue
        _require_readable(seal, where)
        sealed = Sealed(snapshot.snapshot_id, snapshot.timestamp_ms, seal)
        if seal.kind != MAINTENANCE:
            return Made(sealed, known=True)
        stand_in = stand_in or sealed
    return Made(stand_in, known=stand_in is not None or parent is None or reads_nothing(table))


def _require_readable(seal: Seal, where: str) -> None:
    """Refuse a seal whose digest fits, and whose words on lineage are none."""
    try:
        Derivation.of(seal)
        computations_in(seal.statement)
        origins_in(seal.statement)
    except msgspec.MsgspecError as error:
        raise SealBroken(
            f"{where}: the seal cannot be read ({type(error).__name__}: {error}), though its digest matches.",
            remedy="roll the table back to the snapshot before it, or restore the metadata from a backup",
        ) from error


def read_before(base: Base, followed: str) -> int | None:
    """The snapshot up to which an incremental table has read what it follows; None where no seal says so.

    Raises:
        SealBroken: it was changed after it was written.
    """
    seal = made(base.table, base.snapshot_id).seal
    return seal.inputs.get(followed) if seal is not None and seal.kind == DERIVE else None


def reads_nothing(table: Table) -> bool:
    """Whether the table's writer computes it from no other table: none of the seals that are left names an input.

    A table has one writer, so what holds for the seals that are left holds for those that have expired.
    """
    inputs = [text for s in table.metadata.snapshots if (text := summary_of(s).get(seal_keys.INPUTS)) is not None]
    return bool(inputs) and all(text == _EMPTY for text in inputs)


@dataclass(frozen=True)
class Derivation:
    """What the seal of a derived table says of its reading. The keys are those of `derived.statement`.

    Args:
        declared: argument → table, as declared when it was computed.
        scanned: table → snapshot that Spark's plan names; 0 where it was read without one.
        dates: input → runtime date that it carried; empty for a dateless one.
        differs: why a backfill was allowed to join inputs that do not agree; empty for none.
    """

    declared: Mapping[str, str]
    scanned: Mapping[str, int]
    dates: Mapping[str, str]
    differs: str

    @classmethod
    def of(cls, seal: Seal) -> "Derivation | None":
        """Read it, or None where the seal is of no derived table."""
        statement = seal.statement
        if seal_keys.DERIVED_SCANNED not in statement:
            return None
        return cls(
            declared=msgspec.json.decode(statement.get(seal_keys.DERIVED_DECLARED, _EMPTY), type=dict[str, str]),
            scanned=msgspec.json.decode(statement[seal_keys.DERIVED_SCANNED], type=dict[str, int]),
            dates=msgspec.json.decode(statement.get(seal_keys.DERIVED_DATES, _EMPTY), type=dict[str, str]),
            differs=statement.get(seal_keys.DERIVED_DIFFERS, ""),
        )
