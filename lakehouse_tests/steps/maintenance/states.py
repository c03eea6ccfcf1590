"""States of tables that nobody has written: what decisions are tried on."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from lakehouse.declarations import Expire, Maintenance
from lakehouse.steps.maintenance.model.action import MaintenancePlan
from lakehouse.steps.maintenance.model.state import (
    Cadence,
    Depth,
    MeasuredState,
    Partition,
    PartitionState,
    RefState,
    Remembered,
    SnapshotHold,
    SnapshotState,
    Totals,
    Traits,
)
from lakehouse.steps.maintenance.plan.budget import Budget
from lakehouse.steps.maintenance.plan.decide import decide

NOW = datetime(2013, 6, 1, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
MIB = 1024**2
TARGET = 128 * MIB
BY_COUNT = Maintenance(expire=Expire(max_snapshots=50))


def part(name: str = "day=1", files: int = 20, size: int = MIB, **more: Any) -> PartitionState:
    """A partition of equal files that nobody has changed for hours."""
    small = size < 0.75 * TARGET
    return PartitionState(
        **{
            "partition": Partition(key=f"key of {name}", name=name),
            "files": files,
            "bytes": files * size,
            "records": files * 1000,
            "fragments": files if size < TARGET / 8 else 0,
            "undersized": files if small else 0,
            "undersized_bytes": files * size if small else 0,
            "formats": {"PARQUET": files},
            "last_change": NOW - 2 * HOUR,
            **more,
        }
    )


def line(count: int, *, every: timedelta = HOUR, oldest_parent: int | None = None) -> tuple[SnapshotState, ...]:
    """A history of so many snapshots, each with a seal; the newest is now."""
    return tuple(
        SnapshotState(
            snapshot_id=number,
            parent_id=number - 1 if number > 1 else oldest_parent,
            timestamp=NOW - every * (count - number),
            operation="append",
            kind="ingest",
            attempt=f"a{number}",
        )
        for number in range(1, count + 1)
    )


def state(*partitions: PartitionState, **more: Any) -> MeasuredState:
    """A table of these partitions; healthy but for them."""
    files = sum(partition.files for partition in partitions)
    totals = Totals(
        files=files,
        bytes=sum(partition.bytes + partition.delete_bytes for partition in partitions),
        records=sum(partition.records for partition in partitions),
        delete_files=sum(partition.delete_files for partition in partitions),
        position_deletes=sum(partition.position_deletes for partition in partitions),
        equality_deletes=sum(partition.equality_deletes for partition in partitions),
        snapshots=len(more.get("history", ())),
        manifests=3 if partitions else None,
        manifest_bytes=30_000 if partitions else 0,
    )
    return MeasuredState(
        **{
            "table": "raw.things",
            "uuid": "the uuid",
            "document": "00007-a.metadata.json",
            "measured_at": NOW,
            "updated_at": NOW - HOUR,
            "snapshot_id": len(more["history"]) if more.get("history") else None,
            "totals": totals,
            "partitions": partitions or None,
            "depth": Depth.FILES if partitions else Depth.TOTALS,
            "remembered": Remembered(orphans_looked_at=NOW - HOUR / 2),
            **more,
        }
    )


def decided(
    measured: MeasuredState, policy: Maintenance | None = None, budget: Budget | None = None
) -> MaintenancePlan:
    """The plan, by the usual policy and budget if none is given."""
    return decide(measured, policy or Maintenance(), budget or Budget(), cores=2)


def operations(plan: MaintenancePlan) -> list[str]:
    """What the plan does."""
    return [action.operation.value for action in plan.actions]


def whys(plan: MaintenancePlan) -> dict[str, list[str]]:
    """Operation → why it was withheld."""
    reasons: dict[str, list[str]] = {}
    for withheld in plan.withheld:
        reasons.setdefault(withheld.action.operation.value, []).append(withheld.why)
    return reasons


_COUNTS = st.integers(0, 300)
_TIMES = st.integers(-10_000, 0).map(lambda minutes: NOW + timedelta(minutes=minutes))


@st.composite
def partition_states(draw: st.DrawFn) -> PartitionState:
    """Any partition."""
    files = draw(st.integers(1, 300))
    undersized = draw(st.integers(0, files))
    oversized = draw(st.integers(0, files - undersized))
    foreign = draw(st.integers(0, files - undersized - oversized))
    small = undersized * draw(st.integers(1, 95 * MIB))
    large, other = oversized * 300 * MIB, foreign * 100 * MIB
    name = f"day={draw(st.integers(0, 40))}"
    return PartitionState(
        partition=Partition(key=draw(st.uuids()).hex[:16], name=name, spec_id=draw(st.integers(0, 1))),
        files=files,
        bytes=small + large + other + (files - undersized - oversized - foreign) * 120 * MIB,
        records=draw(st.integers(1, 10**6)),
        fragments=draw(st.integers(0, undersized)),
        undersized=undersized,
        undersized_bytes=small,
        oversized=oversized,
        oversized_bytes=large,
        foreign=foreign,
        foreign_bytes=other,
        delete_files=draw(st.integers(0, 20)),
        delete_bytes=draw(st.integers(0, MIB)),
        position_deletes=draw(st.integers(0, 10**6)),
        equality_deletes=draw(st.sampled_from([0, 0, 0, 7])),
        last_change=draw(st.none() | _TIMES),
        changes_per_hour=draw(st.floats(0, 100)),
        ends=draw(st.none() | _TIMES),
        touched=draw(st.none() | st.integers(0, files)),
        touched_bytes=draw(st.integers(0, 100 * MIB)),
    )


@st.composite
def states(draw: st.DrawFn) -> MeasuredState:
    """Any state: as PyIceberg could have measured it, or as it could not."""
    partitions = draw(st.lists(partition_states(), max_size=6, unique_by=lambda state: state.partition.key))
    history = line(draw(st.integers(0, 120)), every=timedelta(minutes=draw(st.integers(0, 500))))
    ids = st.integers(0, max(len(history), 1))
    refs = draw(
        st.lists(
            st.builds(
                RefState,
                name=st.sampled_from(["lakehouse_attempt_a_1", "lakehouse_attempt_maintain_x_1", "release-1", "b"]),
                kind=st.sampled_from(["branch", "tag"]),
                snapshot_id=ids,
                begun=st.none() | _TIMES,
            ),
            max_size=3,
            unique_by=lambda ref: ref.name,
        )
    )
    kinds = st.sampled_from(["mirror", "incremental", "lease", "pin", "release", "tag"])
    holders = draw(
        st.lists(
            st.builds(
                SnapshotHold,
                kind=kinds,
                owner=st.sampled_from(["x.y", "somebody"]),
                snapshot_id=ids,
                since_on=st.booleans(),
                until=st.none() | st.integers(-9000, 9000).map(lambda m: NOW + timedelta(minutes=m)),
            ),
            max_size=4,
            unique_by=lambda holder: (holder.kind, holder.owner, holder.snapshot_id),
        )
    )
    totals = Totals(
        files=sum(state.files for state in partitions),
        bytes=sum(state.bytes for state in partitions),
        records=sum(state.records for state in partitions),
        delete_files=draw(_COUNTS),
        snapshots=len(history),
        manifests=draw(st.none() | _COUNTS),
        manifest_bytes=draw(st.integers(0, 100 * MIB)),
    )
    return MeasuredState(
        table="raw.things",
        uuid="the uuid",
        document="00007-a.metadata.json",
        measured_at=NOW,
        updated_at=NOW - timedelta(minutes=draw(st.integers(0, 9000))),
        snapshot_id=len(history) or None,
        totals=totals,
        partitions=tuple(partitions) or None,
        history=history,
        refs=tuple(refs),
        holders=tuple(holders),
        cadence=Cadence(
            append_bytes=draw(st.none() | st.integers(1, 500 * MIB)),
            append_partitions=draw(st.none() | st.integers(1, 500)),
            changed_share=draw(st.none() | st.floats(0, 1)),
            copied_share=draw(st.none() | st.floats(0, 1)),
        ),
        traits=Traits(
            format_version=draw(st.sampled_from([2, 2, 3])),
            sealed=draw(st.booleans()),
            sorted=draw(st.booleans()),
            gc_enabled=draw(st.booleans()),
            own_location=draw(st.sampled_from(["", "", "write.data.path is set"])),
            writer=draw(st.sampled_from(["stream", "mirror", "none"])),
        ),
        remembered=Remembered(orphans_looked_at=draw(st.none() | _TIMES), orphan_candidates=draw(st.integers(0, 3))),
        unreadable=draw(st.sampled_from(["", "", "", "it cannot be loaded"])),
    )
