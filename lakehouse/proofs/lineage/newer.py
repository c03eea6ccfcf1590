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
    newest = max((computation.runtime_date for computation in every), default="")
    messages: list[str] = []
    for computation in replaced:
        if computation.known and runtime_date < computation.runtime_date:
            date = f"runtime date {computation.runtime_date} (run {computation.run_id})"
        elif not computation.known and runtime_date < newest:
            date = f"a runtime date that can no longer be told, and may be {newest}"
        else:
            continue
        messages.append(
            f"it holds rows of {date}{_within(computation.among(every))}, and this run is of {runtime_date}"
        )
    return messages


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
        f"it holds rows{_within(origin.among(every))} that {message}"
        for origin in replaced
        for read in reads
        for message in _newer(sealed, read, origin.inputs.get(read.name))
    ]


def _newer(sealed: Sealed, read: TableRead, other_id: int | None) -> Iterator[str]:
    if other_id is None or other_id == read.snapshot_id:
        return
    read_snapshot, other_snapshot = (
        read.table.metadata.snapshot_by_id(snapshot_id) for snapshot_id in (read.snapshot_id, other_id)
    )
    if read_snapshot is None:  # then it cannot be read, which is told by whoever tries to
        return
    message = f"were computed from {read.name} at snapshot {other_id}"
    if other_snapshot is None:
        # It was written before the seal that names it.
        if read_snapshot.timestamp_ms <= sealed.timestamp_ms:
            yield f"{message}, which has expired and may be newer than {read.snapshot_id}, which this run reads"
    elif (
        _commit_order(read_snapshot) < _commit_order(other_snapshot)
        and compare(read.table, read.snapshot_id, other_id) is not ContentChange.SAME
    ):
        yield f"{message}, and this run reads the older {read.snapshot_id}"


def _is_now(read: TableRead) -> bool:
    head = head_of(read.table)
    return head is not None and compare(read.table, read.snapshot_id, head) is ContentChange.SAME


def _commit_order(snapshot: Snapshot) -> tuple[int, int]:
    """Grows from commit to commit of a table: by the number, which tables of version 1 do not have, or by the time."""
    return snapshot.sequence_number or 0, snapshot.timestamp_ms


def _within(part: str) -> str:
    return f" in {part}" if part else ""
