"""Would a run put older rows in the place of newer ones? By the seals alone.

A run that is executed again has the date and the pins of its first time. What others have computed since, for a later
date or from later snapshots, is newer than whatever it can compute.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from lakehouse.errors import LakehouseError
from lakehouse.proofs.lineage.computations import Computation
from lakehouse.proofs.lineage.content import ContentChange, compare
from lakehouse.proofs.lineage.origins import Origin
from lakehouse.protocol.seals.history import Sealed, head_of


class NewerRows(LakehouseError):
    """The table holds newer rows than the run would put in their place."""

    def __init__(self, table: str, newer: Sequence[str]) -> None:
        super().__init__(
            f"{table}: {'; '.join(newer)}. Newer rows are not replaced by older ones; nothing was written.",
            remedy="nothing to do if the newer rows are right: a new run computes from what is there now. If the older "
            "ones are meant, say why by the run tag lakehouse/backfill (`lakehouse derive --backfill <reason>`).",
        )


@dataclass(frozen=True)
class TableRead:
    """A table at the snapshot that a run reads."""

    name: str
    table: Table
    snapshot_id: int


def newer_dates(runtime_date: str, replaced: Sequence[Computation], every: Sequence[Computation]) -> list[str]:
    """What of the rows that would go is of a later runtime date, in words.

    Args:
        runtime_date: of the run.
        replaced: how the rows that would go were computed.
        every: how all rows of the table were computed. Those of which the seal no longer tells the date are as old
            as the newest of all at the most.
    """
    newest = max((one.runtime_date for one in every), default="")
    found: list[str] = []
    for one in replaced:
        if one.told and runtime_date < one.runtime_date:
            date = f"runtime date {one.runtime_date} (run {one.run_id})"
        elif not one.told and runtime_date < newest:
            date = f"a runtime date that can no longer be told, and may be {newest}"
        else:
            continue
        found.append(f"it holds rows of {date}{_within(one.among(every))}, and this run is of {runtime_date}")
    return found


def newer_inputs(
    sealed: Sealed, reads: Iterable[TableRead], replaced: Sequence[Origin], every: Sequence[Origin]
) -> list[str]:
    """What of the rows that would go was computed from later snapshots than the run reads, in words.

    An input that is read as it is now is never too old, also if it was set back since.

    Args:
        sealed: the seal that names the snapshots.
        reads: what the run reads.
        replaced: from what the rows that would go were computed.
        every: from what all rows of the table were computed.
    """
    reads = [read for read in reads if not _is_now(read)]
    return [
        f"it holds rows{_within(one.among(every))} that {told}"
        for one in replaced
        for read in reads
        for told in _newer(sealed, read, one.inputs.get(read.name))
    ]


def _newer(sealed: Sealed, read: TableRead, other: int | None) -> Iterator[str]:
    if other is None or other == read.snapshot_id:
        return
    ours, theirs = (read.table.metadata.snapshot_by_id(number) for number in (read.snapshot_id, other))
    if ours is None:  # then it cannot be read, which is told by whoever tries to
        return
    told = f"were computed from {read.name} at snapshot {other}"
    if theirs is None:
        # It was written before the seal that names it.
        if ours.timestamp_ms <= sealed.timestamp_ms:
            yield f"{told}, which has expired and may be newer than {read.snapshot_id}, which this run reads"
    elif _written(ours) < _written(theirs) and compare(read.table, read.snapshot_id, other) is not ContentChange.SAME:
        yield f"{told}, and this run reads the older {read.snapshot_id}"


def _is_now(read: TableRead) -> bool:
    head = head_of(read.table)
    return head is not None and compare(read.table, read.snapshot_id, head) is ContentChange.SAME


def _written(snapshot: Snapshot) -> tuple[int, int]:
    """Grows from commit to commit of a table: by the number, which tables of version 1 do not have, or by the time."""
    return snapshot.sequence_number or 0, snapshot.timestamp_ms


def _within(part: str) -> str:
    return f" in {part}" if part else ""
