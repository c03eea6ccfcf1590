"""Names the offsets when a table does not hold what its seals say: a scan of the coordinates, all tables together."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lakehouse.engines.kafka.tally import Tally, over_tables
from lakehouse.proofs.audit.chain import KIND_REPROCESS, Link, rebases_totals
from lakehouse.proofs.audit.coordinates import Offsets, coordinates_there
from lakehouse.proofs.audit.findings import Finding
from lakehouse.protocol.seals.read_group import Pinned

_SHOWN = 10
_NONE = np.array([], np.int64)


@dataclass(frozen=True)
class _StoredOffsets:
    """One partition of one table, its rows, and those of all tables of the stream."""

    table: str
    partition: int
    offsets: Offsets
    everywhere: Offsets

    def finding(self, message: str, offsets: str) -> Finding:
        return Finding("rows_differ", f"{self.table}: {message}", self.table, self.partition, offsets)


def name_places(
    group: Mapping[str, Pinned], differing: set[tuple[str, int]], links: Sequence[Link]
) -> Iterator[Finding]:
    """Say which offsets of which table are doubled, missing or where they should not be.

    Args:
        group: the stream's tables as they were judged.
        differing: table and partition where rows and totals differ.
        links: the seals that are still there, oldest first.
    """
    numbers = links[-1].statement.numbers if links else None
    rows = {
        name: coordinates_there(pinned.table, list(pinned.scan().plan_files()), numbers).offsets
        if pinned.snapshot_id
        else {}
        for name, pinned in group.items()
    }
    for table, partition in sorted(differing):
        all_offsets = np.concatenate([by_p.get(partition, _NONE) for by_p in rows.values()])
        stored = _StoredOffsets(table, partition, rows[table].get(partition, _NONE), all_offsets)
        is_separable = not any(rebases_totals(link) for link in links) and not _retired(stored, links)
        is_separable = is_separable and not _reprocessed(stored, links)
        findings = list(_by_ranges(stored, links)) if is_separable else []
        yield from findings or [_as_a_whole(stored, links)]


def _by_ranges(stored: _StoredOffsets, links: Sequence[Link]) -> Iterator[Finding]:
    """What differs before the oldest seal that is still there, within each sealed range, and after the last."""
    if not links:
        return
    first, last = links[0].statement, links[-1].statement
    begin, end = first.start.get(stored.partition), last.end.get(stored.partition)
    if begin is not None:
        tally = first.tallies.get(stored.table, {}).get(stored.partition, Tally())
        expected = first.totals.get(stored.table, {}).get(stored.partition, Tally()) - tally
        offsets = stored.offsets[stored.offsets < begin]
        if Tally.of(offsets) != expected:
            message = (
                f"the seals account for {expected.count} rows of partition {stored.partition} before offset {begin}, "
            )
            yield stored.finding(f"{message}the table holds {len(offsets)}.{_doubled(offsets)}", f"[0, {begin})")
    for index, link in enumerate(links):
        # Maintenance repeats what the seal before it says.
        if index == 0 or link.kind != "maintenance":
            yield from _judge_range(stored, link)
    unsealed = stored.offsets if end is None else stored.offsets[stored.offsets >= end]
    if len(unsealed):
        message = f"{len(unsealed)} rows of partition {stored.partition} that no seal accounts for: {_some(unsealed)}."
        yield stored.finding(message, f"from {end or 0}")


def _judge_range(stored: _StoredOffsets, link: Link) -> Iterator[Finding]:
    statement = link.statement
    start, end = statement.start.get(stored.partition), statement.end.get(stored.partition)
    if start is None or end is None:
        return
    offsets = stored.offsets[(stored.offsets >= start) & (stored.offsets < end)]
    expected = statement.tallies.get(stored.table, {}).get(stored.partition, Tally())
    if Tally.of(offsets) == expected:
        return
    missing = ""
    if over_tables(statement.tallies).get(stored.partition, Tally()) == Tally.of_range(start, end):
        # Every offset of this range carried a record or was given up, so another one that is in no table is lost.
        absent = np.setdiff1d(np.arange(start, end, dtype=np.int64), stored.everywhere)
        for first, until in statement.lost.get(stored.partition, []):
            absent = absent[(absent < first) | (absent >= until)]
        missing = f" Missing: {_some(absent)}." if len(absent) else ""
    yield stored.finding(
        f"run {link.sealed.seal.run_id} sealed {expected.count} rows of partition {stored.partition} offsets "
        f"[{start}, {end}), the table holds {len(offsets)}.{missing}{_doubled(offsets)}",
        f"[{start}, {end})",
    )


def _retired(stored: _StoredOffsets, links: Sequence[Link]) -> bool:
    """Whether retention has removed rows, so that ranges do not hold any more what was sealed of them."""
    return bool(links) and stored.partition in links[-1].statement.retired.get(stored.table, {})


def _reprocessed(stored: _StoredOffsets, links: Sequence[Link]) -> bool:
    """Whether rows came from the quarantine, or left it, so that ranges do not hold what was sealed of them."""
    return any(
        link.kind == KIND_REPROCESS and stored.partition in link.statement.tallies.get(stored.table, {})
        for link in links
    )


def _as_a_whole(stored: _StoredOffsets, links: Sequence[Link]) -> Finding:
    """Where offsets do not tell runs apart: of several topics, adopted, retired in part, or without a seal at all."""
    expected, end = Tally(), 0
    if links:
        expected = links[-1].statement.expected.get(stored.table, {}).get(stored.partition, Tally())
        end = max(link.statement.end.get(stored.partition, 0) for link in links)
    begin = int(stored.offsets.min()) if len(stored.offsets) else 0
    end = max(end, int(stored.offsets.max()) + 1 if len(stored.offsets) else 0)
    return stored.finding(
        f"the seals account for {expected.count} rows of partition {stored.partition}, the table holds "
        f"{len(stored.offsets)}, or as many with other offsets.{_doubled(stored.offsets)}",
        f"[{begin}, {end})",
    )


def _doubled(offsets: Offsets) -> str:
    values, times = np.unique(offsets, return_counts=True)
    repeated = values[times > 1]
    return f" More than once: {_some(repeated)}." if len(repeated) else ""


def _some(offsets: Offsets) -> str:
    text = ", ".join(str(offset) for offset in offsets[:_SHOWN])
    return text + (f" and {len(offsets) - _SHOWN} more" if len(offsets) > _SHOWN else "")
