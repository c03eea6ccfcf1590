"""What is refused by name: ways to lose data, or to wait for ever, that the versions we pin are known for.

`refusals` is asked before anything is decided; what a step hands to Spark goes through `require_safe`.
"""

from collections.abc import Callable, Mapping

from lakehouse.declarations import Maintenance
from lakehouse.errors import LakehouseError
from lakehouse.steps.maintenance.model.action import Operation
from lakehouse.steps.maintenance.model.state import MeasuredState, PartitionState


class Trap(LakehouseError):
    """A known trap; the class names it."""


class FormatVersion3(Trap):
    """PyIceberg cannot write tables of version 3, so nothing that we commit by metadata can be done to one."""


class Unsealed(Trap):
    """Nobody has said how far the table has come, so maintenance cannot say it again."""


class GarbageCollectionOff(Trap):
    """`gc.enabled=false`: the table's files may be another table's as well."""


class SharedLocation(Trap):
    """The table's files do not lie in a folder that is its alone: what is no file of its may be another's."""


class EqualityDeletes(Trap):
    """Equality deletes that are committed while files are rewritten are lost (apache/iceberg #10312)."""


class NotNameable(Trap):
    """Spark has no words for a partition, so nothing can be done to it alone."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what} cannot be told to Spark.",
            remedy="if its rows are wrong, correct them; it is left alone, and other partitions are not",
        )
        self.what = what


class ReadInRanges(Trap):
    """Somebody reads the table in ranges of snapshots, and would take what is written anew for new rows."""


class Computed(Trap):
    """The table's own step computes it, and would not know that rows have gone."""


class StreamRefuses(Trap):
    """The tables of the stream are not at one position: whoever repairs it needs them as they are."""


class DeclarationsBroken(Trap):
    """A declaration does not load, and what it declares may still need what would be deleted."""


class PartialProgress(Trap):
    """A rewrite that commits in parts goes on after a conflict that dooms it (apache/iceberg #6579)."""


class BrokenOption(Trap):
    """`max-file-group-input-files` is refused as unknown by the procedure that documents it (apache/iceberg #17544)."""


class NoBranch(Trap):
    """A procedure that knows no branch publishes at once, without seal or proof."""


# Procedures that write where they are told to, and nowhere else.
_ON_A_BRANCH = frozenset({"rewrite_data_files"})
_HARMLESS = frozenset({"compute_table_stats", "compute_partition_stats"})


def refusals(state: MeasuredState, policy: Maintenance, operation: Operation) -> tuple[Trap, ...]:
    """Why an operation may not be done to a table at all; none where it may."""
    traps = (check(state, policy) for check in _CHECKS.get(operation, ()))
    return tuple(trap for trap in traps if trap is not None)


def refused_partition(partition: PartitionState, policy: Maintenance) -> Trap | None:
    """Why a partition may not be rewritten."""
    if partition.unnameable:
        return NotNameable(partition.unnameable)
    if partition.equality_deletes and policy.rewrite is not None and not policy.rewrite.equality_writer_gone:
        return EqualityDeletes(
            f"{partition.partition.name} has equality deletes; one that is committed during a rewrite would be lost.",
            remedy="when whoever writes them writes no more, declare Rewrite(equality_writer_gone=True)",
        )
    return None


def require_safe(procedure: str, options: Mapping[str, str]) -> None:
    """Refuse a call of a procedure of Iceberg that is known to end badly.

    Raises:
        Trap: names it.
    """
    if procedure not in _ON_A_BRANCH | _HARMLESS:
        raise NoBranch(
            f"{procedure} has no argument branch, so what it writes is published at once.",
            remedy="use the operation of lakehouse.maintenance that does the same",
        )
    if options.get("partial-progress.enabled", "false").lower() != "false":
        raise PartialProgress(
            f"{procedure} with partial-progress.enabled goes on after a conflict that dooms it.",
            remedy="leave it out; declare a smaller Rewrite(max_group_bytes=…) instead",
        )
    if "max-file-group-input-files" in options:
        raise BrokenOption(
            f"{procedure} refuses max-file-group-input-files in the versions that we use.",
            remedy="leave it out; declare a smaller Rewrite(max_group_bytes=…) instead",
        )


def rows_of(state: MeasuredState) -> int | None:
    """Rows that a reader sees; None where `total-records` cannot say so, because rows in files are deleted."""
    return None if state.totals.delete_files else state.totals.records


def _version_3(state: MeasuredState, _: Maintenance) -> Trap | None:
    if state.traits.format_version < 3:
        return None
    return FormatVersion3(
        f"{state.table} is of format version {state.traits.format_version}, which is written by Spark alone.",
        remedy="nothing to do; its data files are rewritten all the same",
    )


def _unsealed(state: MeasuredState, _: Maintenance) -> Trap | None:
    if state.traits.sealed or not state.totals.records:
        return None
    return Unsealed(
        f"{state.table} holds rows and no seal.",
        remedy="adopt it (`lakehouse adopt`), or let its writer run once",
    )


def _no_collection(state: MeasuredState, _: Maintenance) -> Trap | None:
    if state.traits.gc_enabled:
        return None
    return GarbageCollectionOff(
        f"{state.table} has gc.enabled=false: its files may be another table's as well.",
        remedy="set gc.enabled where the files are its own; else declare expire=None and orphans=None",
    )


def _shared(state: MeasuredState, _: Maintenance) -> Trap | None:
    if not state.traits.own_location:
        return None
    return SharedLocation(
        f"{state.table}: {state.traits.own_location}, so other files may lie beside its own.",
        remedy="declare orphans=None; the store's own rules for old files may do",
    )


def _in_ranges(state: MeasuredState, _: Maintenance) -> Trap | None:
    if state.traits.writer not in ("changelog", "mirror") and not state.traits.followed_by:
        return None
    followers = ", ".join(state.traits.followed_by) or f"the {state.traits.writer} itself"
    return ReadInRanges(
        f"{state.table} is followed by {followers}, which would take rows that are written anew for new ones.",
        remedy="declare deduplicate=None; rows of a changelog are told apart by those who read it",
    )


def _computed(state: MeasuredState, _: Maintenance) -> Trap | None:
    if state.traits.writer not in ("derived", "release", "own"):
        return None
    return Computed(
        f"{state.table} is computed by its own step, which would not know that rows have gone.",
        remedy="let the computation tell rows apart, and declare deduplicate=None",
    )


def _stream_refuses(state: MeasuredState, _: Maintenance) -> Trap | None:
    if not state.traits.stream_refuses:
        return None
    return StreamRefuses(
        f"{state.table} waits for its stream, which refuses: {state.traits.stream_refuses}",
        remedy="repair the stream first: its next run names the remedy",
    )


def _not_loaded(state: MeasuredState, _: Maintenance) -> Trap | None:
    if not state.traits.not_loaded:
        return None
    return DeclarationsBroken(
        f"{state.table} keeps what it has while declarations do not load: {' '.join(state.traits.not_loaded)}",
        remedy="correct them: who reads the table is not known before",
    )


_Check = Callable[[MeasuredState, Maintenance], Trap | None]
_CHECKS: Mapping[Operation, tuple[_Check, ...]] = {
    Operation.DEDUPLICATE: (_not_loaded, _unsealed, _stream_refuses, _version_3, _in_ranges, _computed),
    Operation.REWRITE: (_unsealed, _stream_refuses),
    Operation.MANIFESTS: (_unsealed, _stream_refuses, _version_3),
    Operation.LEASES: (_not_loaded,),
    Operation.EXPIRE: (_not_loaded, _unsealed, _stream_refuses, _no_collection),
    Operation.ORPHANS: (_not_loaded, _no_collection, _shared),
    Operation.BRANCHES: (
        _not_loaded,
        _no_collection,
    ),
}
