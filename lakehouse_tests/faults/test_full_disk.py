"""The disk is full at any point of a step: one error says so, nothing is half there, and with room the next completes.

Guarded mechanisms: what a step writes stays on its branch; the rows of a commit are swapped together; a full disk is
recognised at the root of whatever error it has become. An ingest's own reading and writing by Spark: `test_readable`.
"""

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lakehouse.declarations import ORPHANS, Expire, Maintenance, Orphans, apply, plan
from lakehouse.protocol.commit import publish, stage_replacement
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.settings.storage_refusal import storage_refusal
from lakehouse.steps.maintenance.expire.expire import expire
from lakehouse.steps.maintenance.model.action import Action, Operation
from lakehouse.steps.maintenance.orphans import removal
from lakehouse_tests.faults.rewriting import merged_files
from lakehouse_tests.faults.small_disk import SmallDisk
from lakehouse_tests.proofs.audit import simulated
from lakehouse_tests.proofs.audit.simulated import QUARANTINE, A, B, SimulatedStream
from lakehouse_tests.steps.maintenance.house import work_on

TABLES = (A, B, QUARANTINE)
SMALL = Expire(min_snapshots_to_keep=2, max_snapshots=2, at_least=1)


def records(events: SimulatedStream) -> Counter[tuple[int, int]]:
    """Partition and offset of every row of the stream, as a reader sees them."""
    columns = ("_kafka_partition", "_kafka_offset")
    rows = [row for name in TABLES for row in events.load(name).scan(selected_fields=columns).to_arrow().to_pylist()]
    return Counter((row[columns[0]], row[columns[1]]) for row in rows)


def refused(act: Callable[[], object]) -> None:
    """It fails, and for no other reason than the disk."""
    with pytest.raises(Exception) as error:  # noqa: PT011 - of the driver, of Arrow or of the system
        act()
    assert storage_refusal(error.value) == "is full", error.value


@pytest.mark.parametrize("point", ["files", "stage_files", "seal_all", "publish"])
def test_an_ingest(events: SimulatedStream, small_disk: SmallDisk, monkeypatch: pytest.MonkeyPatch, point: str) -> None:
    before = records(events)
    owner: Any = SimulatedStream if point == "files" else simulated
    real = getattr(owner, point)

    def on_a_full_disk(*args: Any, **more: Any) -> Any:
        small_disk.fill()
        return real(*args, **more)

    with monkeypatch.context() as patch:
        patch.setattr(owner, point, on_a_full_disk)
        refused(lambda: events.ingest({0: 20, 1: 10}))
    assert records(events) == before
    small_disk.make_room()
    events.ingest({})
    assert records(events) == Counter((p, o) for p, end in events.ends.items() for o in range(end))
    proof = events.audit(scan=True)
    assert proof.holds, proof.findings


def test_an_expiry(events: SimulatedStream, small_disk: SmallDisk) -> None:
    events.ingest({0: 20})
    before, snapshots = records(events), len(events.load(A).metadata.snapshots)
    with small_disk.full():
        refused(lambda: expire(events.catalog, events.declarations, A, SMALL))
        assert records(events) == before
    assert len(events.load(A).metadata.snapshots) == snapshots
    expire(events.catalog, events.declarations, A, SMALL)
    assert len(events.load(A).metadata.snapshots) < snapshots
    assert records(events) == before
    assert events.audit(scan=True).holds


@pytest.mark.parametrize("point", ["stage", "publish"])
def test_a_rewrite(events: SimulatedStream, small_disk: SmallDisk, point: str) -> None:
    events.ingest({0: 20})
    before = records(events)

    def staged() -> Any:
        base = read_bases(events.catalog, [A])[A]
        attempt = Attempt(run_id="maintenance", step=f"maintain:{A}")
        return stage_replacement(events.catalog, base, attempt, merged_files(events, base))

    if point == "stage":
        with small_disk.full():
            refused(staged)
    else:
        waiting = staged()
        with small_disk.full():
            refused(lambda: publish(events.catalog, [waiting]))
            assert records(events) == before
    publish(events.catalog, [staged()])
    assert len(events.live_files(A)) == 1
    assert records(events) == before
    assert events.audit(scan=True).holds


def test_orphan_removal(events: SimulatedStream, small_disk: SmallDisk) -> None:
    """That a file goes is written down before it goes: where that cannot be, it stays."""
    apply(plan(ORPHANS, events.catalog), events.catalog)
    (stray,) = events.files(A, [(0, 999)])
    policy, before = Maintenance(orphans=Orphans(older_than=timedelta(days=2), delete=True)), records(events)
    action, now = Action(operation=Operation.ORPHANS), datetime.now(UTC)

    def look(days: int) -> Any:
        work = work_on(events.catalog, events.declarations, A, policy, allow=True)
        return removal.run(work, action, now=now + timedelta(days=days))

    assert look(3).effect.candidates == 1
    path = small_disk.folder / stray.file_path.partition("/disk/")[2]
    with small_disk.full():
        refused(lambda: look(6))
        assert path.exists()
    assert look(9).effect.deleted == 1
    assert not path.exists()
    assert records(events) == before
    assert events.audit(scan=True).holds
