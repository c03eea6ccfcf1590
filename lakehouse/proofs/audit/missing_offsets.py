"""Names the offsets when a table does not hold what its seals say: a scan of the coordinates, all tables together."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lakehouse.engines.kafka.tally import Tally, over_tables
from lakehouse.proofs.audit.chain import KIND_REPROCESS, Link, rebases_totals
from lakehouse.proofs.audit.coordinates import Offsets, coordinates_there
from lakehouse.proofs.audit.proof import Finding
from lakehouse.protocol.seals.read_group import Pinned

_SHOWN = 10
_NONE = np.array([], np.int64)


@dataclass(frozen=True)
class _Place:
    """One partition of one table, its rows, and those of all tables of the stream."""

    table: str
    partition: int
    offsets: Offsets
    everywhere: Offsets

    def finding(self, message: str, where: str) -> Finding:
        return Finding("rows_differ", f"{self.table}: {message}", self.table, self.partition, where)


def name_places(group: Mapping[str, Pinned], wrong: set[tuple[str, int]], links: Sequence[Link]) -> Iterator[Finding]:
    """Say which offsets of which table are doubled, missing or where they should not be.

    Args:
        group: the stream's tables as they were judged.
        wrong: table and partition where rows and totals differ.
        links: the seals that are still there, oldest first.
    """
    rows = {
        name: coordinates_there(pinned.table, list(pinned.scan().plan_files()))[0] if pinned.snapshot_id else {}
        for name, pinned in group.items()
    }
    for table, partition in sorted(wrong):
        everywhere = np.concatenate([by_p.get(partition, _NONE) for by_p in rows.values()])
        place = _Place(table, partition, rows[table].get(partition, _NONE), everywhere)
        apart = not any(rebases_totals(link) for link in links) and not _retired(place, links)
        apart = apart and not _reprocessed(place, links)
        found = list(_by_ranges(place, links)) if apart else []
        yield from found or [_as_a_whole(place, links)]


def _by_ranges(place: _Place, links: Sequence[Link]) -> Iterator[Finding]:
    """What differs before the oldest seal that is still there, within each sealed range, and after the last."""
    if not links:
        return
    first, last = links[0].statement, links[-1].statement
    begin, end = first.start.get(place.partition), last.end.get(place.partition)
    if begin is not None:
        own = first.tallies.get(place.table, {}).get(place.partition, Tally())
        expected = first.totals.get(place.table, {}).get(place.partition, Tally()) - own
        here = place.offsets[place.offsets < begin]
        if Tally.of(here) != expected:
            message = (
                f"the seals account for {expected.count} rows of partition {place.partition} before offset {begin}, "
            )
            yield place.finding(f"{message}the table holds {len(here)}.{_doubled(here)}", f"[0, {begin})")
    for number, link in enumerate(links):
        # Maintenance repeats what the seal before it says.
        if number == 0 or link.kind != "maintenance":
            yield from _judge_range(place, link)
    beyond = place.offsets if end is None else place.offsets[place.offsets >= end]
    if len(beyond):
        message = f"{len(beyond)} rows of partition {place.partition} that no seal accounts for: {_some(beyond)}."
        yield place.finding(message, f"from {end or 0}")


def _judge_range(place: _Place, link: Link) -> Iterator[Finding]:
    statement = link.statement
    start, end = statement.start.get(place.partition), statement.end.get(place.partition)
    if start is None or end is None:
        return
    here = place.offsets[(place.offsets >= start) & (place.offsets < end)]
    expected = statement.tallies.get(place.table, {}).get(place.partition, Tally())
    if Tally.of(here) == expected:
        return
    missing = ""
    if over_tables(statement.tallies).get(place.partition, Tally()) == Tally.of_range(start, end):
        # Every offset of this range carried a record or was given up, so another one that is in no table is lost.
        absent = np.setdiff1d(np.arange(start, end, dtype=np.int64), place.everywhere)
        for first, until in statement.lost.get(place.partition, []):
            absent = absent[(absent < first) | (absent >= until)]
        missing = f" Missing: {_some(absent)}." if len(absent) else ""
    yield place.finding(
        f"run {link.sealed.seal.run_id} sealed {expected.count} rows of partition {place.partition} offsets "
        f"[{start}, {end}), the table holds {len(here)}.{missing}{_doubled(here)}",
        f"[{start}, {end})",
    )


def _retired(place: _Place, links: Sequence[Link]) -> bool:
    """Whether retention has removed rows, so that ranges do not hold any more what was sealed of them."""
    return bool(links) and place.partition in links[-1].statement.retired.get(place.table, {})


def _reprocessed(place: _Place, links: Sequence[Link]) -> bool:
    """Whether rows came from the quarantine, or left it, so that ranges do not hold what was sealed of them."""
    return any(
        link.kind == KIND_REPROCESS and place.partition in link.statement.tallies.get(place.table, {}) for link in links
    )


def _as_a_whole(place: _Place, links: Sequence[Link]) -> Finding:
    """Where offsets do not tell runs apart: of several topics, adopted, retired in part, or without a seal at all."""
    expected, end = Tally(), 0
    if links:
        expected = links[-1].statement.held.get(place.table, {}).get(place.partition, Tally())
        end = max(link.statement.end.get(place.partition, 0) for link in links)
    begin = int(place.offsets.min()) if len(place.offsets) else 0
    end = max(end, int(place.offsets.max()) + 1 if len(place.offsets) else 0)
    return place.finding(
        f"the seals account for {expected.count} rows of partition {place.partition}, the table holds "
        f"{len(place.offsets)}, or as many with other offsets.{_doubled(place.offsets)}",
        f"[{begin}, {end})",
    )


def _doubled(offsets: Offsets) -> str:
    values, times = np.unique(offsets, return_counts=True)
    again = values[times > 1]
    return f" More than once: {_some(again)}." if len(again) else ""


def _some(offsets: Offsets) -> str:
    shown = ", ".join(str(offset) for offset in offsets[:_SHOWN])
    return shown + (f" and {len(offsets) - _SHOWN} more" if len(offsets) > _SHOWN else "")
