"""Names the offsets when a table does not hold what its seals say: a scan of the coordinates, all tables together."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from pyiceberg.table import Table

from lakehouse.audit.chain import Link
from lakehouse.audit.holdings import coordinates
from lakehouse.audit.proof import Finding
from lakehouse.commit import Pinned
from lakehouse.kafka.statement import LOST
from lakehouse.kafka.tally import Tally, over_tables

_SHOWN = 10
Offsets = npt.NDArray[np.int64]


def name_places(group: Mapping[str, Pinned], wrong: set[tuple[str, int]], links: Sequence[Link]) -> Iterator[Finding]:
    """Say which offsets of which table are doubled, missing or where they should not be.

    Args:
        group: the stream's tables as they were judged.
        wrong: table and partition where rows and totals differ.
        links: the seals that are still there, oldest first.
    """
    rows = {name: _offsets(pinned.table, pinned.snapshot_id) for name, pinned in group.items()}
    for table, partition in sorted(wrong):
        offsets = rows[table].get(partition, np.array([], np.int64))
        everywhere = np.concatenate([by_p.get(partition, np.array([], np.int64)) for by_p in rows.values()])
        told = False
        for link in links:
            for finding in _judge_range(table, partition, offsets, everywhere, link):
                told = True
                yield finding
        if not told:
            expected = links[-1].statement.totals.get(table, {}).get(partition, Tally()) if links else Tally()
            yield Finding(
                "rows_differ",
                f"{table}: the seals account for {expected.count} rows, the table holds {len(offsets)}; the difference "
                f"lies before the oldest seal that is still there.{_doubled(offsets)}",
                table,
                partition,
                f"before {links[0].statement.start.get(partition, 0)}" if links else "",
            )


def _judge_range(table: str, partition: int, offsets: Offsets, everywhere: Offsets, link: Link) -> Iterator[Finding]:
    statement = link.statement
    start, end = statement.start.get(partition), statement.end.get(partition)
    if start is None or end is None:
        return
    here = offsets[(offsets >= start) & (offsets < end)]
    expected = statement.tallies.get(table, {}).get(partition, Tally())
    if Tally.of(here) == expected:
        return
    missing = ""
    whole = over_tables({name: t for name, t in statement.tallies.items() if name != LOST}).get(partition, Tally())
    if whole == Tally.of_range(start, end):
        # Every offset of this range carried a record, so one that is in no table is lost.
        absent = np.setdiff1d(np.arange(start, end, dtype=np.int64), everywhere)
        missing = f" Missing: {_some(absent)}." if len(absent) else ""
    yield Finding(
        "rows_differ",
        f"{table}: run {link.sealed.seal.run_id} sealed {expected.count} rows of partition {partition} offsets "
        f"[{start}, {end}), the table holds {len(here)}.{missing}{_doubled(here)}",
        table,
        partition,
        f"[{start}, {end})",
    )


def _doubled(offsets: Offsets) -> str:
    values, times = np.unique(offsets, return_counts=True)
    again = values[times > 1]
    return f" More than once: {_some(again)}." if len(again) else ""


def _some(offsets: Offsets) -> str:
    shown = ", ".join(str(offset) for offset in offsets[:_SHOWN])
    return shown + (f" and {len(offsets) - _SHOWN} more" if len(offsets) > _SHOWN else "")


def _offsets(table: Table, snapshot_id: int | None) -> dict[int, Offsets]:
    if snapshot_id is None:
        return {}
    return coordinates(table, list(table.scan(snapshot_id=snapshot_id).plan_files()))
