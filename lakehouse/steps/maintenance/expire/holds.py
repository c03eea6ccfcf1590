"""Who needs a table's old snapshots: everybody, by name, with what a person can do about it.

Every reference counts, whoever set it. Of those that read in ranges the seal counts as well, so that a lease which
somebody has dropped by hand loses nothing; and so does the seal of a mirror that began with a copy.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRefType

from lakehouse.declarations import Declarations
from lakehouse.iceberg.names import table_name
from lakehouse.proofs.lineage.content import changes_rows
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.cleanup.housekeeping import LONGEST_RUN
from lakehouse.protocol.commit.trim import retained
from lakehouse.protocol.leases.lease import LEASE_PREFIX, Lease, held_leases, release_command
from lakehouse.protocol.leases.terms import given_up
from lakehouse.protocol.seals.attempt import BRANCH_PREFIX
from lakehouse.protocol.seals.carried import evidence
from lakehouse.protocol.seals.history import MAIN, ancestry, head_of
from lakehouse.steps.cdc.plan.initial_tag import is_initial
from lakehouse.steps.cdc.replay.checkpoints import CHECKPOINT_PREFIX
from lakehouse.steps.derived.inputs.pins import KEPT, pin_begun_ms
from lakehouse.steps.maintenance.expire.consumers import Consumer, begun_with, consumers_of
from lakehouse.steps.maintenance.expire.orphaned_tags import orphaned_tags
from lakehouse.steps.maintenance.model.state import HolderKind, SnapshotHold
from lakehouse.steps.release.names import CURRENT_SUFFIX, TAG_PREFIX


def holders_of(
    catalog: LakeCatalog, declarations: Declarations, table: Table, *, now: datetime | None = None
) -> tuple[SnapshotHold, ...]:
    """Everybody who holds snapshots of a table that was loaded.

    Raises:
        SealBroken: a seal that says how far somebody has read was changed after it was written.
    """
    orphaned = orphaned_tags(catalog, declarations, table)
    consumers = consumers_of(catalog, declarations, table_name(table))
    by_reading = holders(table, consumers, orphaned=orphaned, now=now)
    return _sorted((*by_reading, *_by_beginning(begun_with(catalog, declarations, table))))


def holding_on(catalog: LakeCatalog, declarations: Declarations, table: Table) -> tuple[SnapshotHold, ...]:
    """Who holds a snapshot and all that follow it: what `lakehouse lease list` and `lakehouse audit` show.

    Raises:
        SealBroken: a seal that says how far somebody has read was changed after it was written.
    """
    return tuple(holder for holder in holders_of(catalog, declarations, table) if holder.since_on)


def holders(
    table: Table,
    consumers: Sequence[Consumer] = (),
    *,
    orphaned: Collection[str] = (),
    now: datetime | None = None,
) -> tuple[SnapshotHold, ...]:
    """Everybody who holds snapshots of a table, given those who read it in ranges.

    Args:
        table: that was loaded.
        consumers: who reads it in ranges.
        orphaned: tags of releases that no release drops any more.
        now: up to when its own retention counts back.
    """
    holds = [*_by_lease(table, consumers), *_by_reference(table, orphaned), *_by_main(table, now or datetime.now(UTC))]
    holds += _by_evidence(table)
    leased = {(holder.owner, holder.snapshot_id) for holder in holds}
    by_seal = [holder for holder in _by_seal(table, consumers) if (holder.owner, holder.snapshot_id) not in leased]
    return _sorted((*holds, *by_seal))


def pin_ends(tag: str) -> datetime | None:
    """When a run's pin ends; None for a tag that is no pin."""
    begun = pin_begun_ms(tag)
    return datetime.fromtimestamp(begun / 1000, UTC) + KEPT if begun is not None else None


def _sorted(holds: Iterable[SnapshotHold]) -> tuple[SnapshotHold, ...]:
    return tuple(sorted(holds, key=lambda holder: (holder.kind, holder.owner, holder.snapshot_id)))


def _by_beginning(begun: Mapping[str, int]) -> Iterator[SnapshotHold]:
    for mirror, snapshot_id in begun.items():
        yield SnapshotHold(
            kind="mirror",
            owner=mirror,
            snapshot_id=snapshot_id,
            command=f"none while {mirror} is declared so: without this snapshot it can be neither proven nor rebuilt",
            reason="its seal says that it began with this snapshot, so its proof and a rebuild read it",
        )


def _by_lease(table: Table, consumers: Sequence[Consumer]) -> Iterator[SnapshotHold]:
    kinds: dict[str, HolderKind] = {consumer.name: consumer.kind for consumer in consumers}
    for lease in held_leases(table):
        kind: HolderKind = kinds.get(lease.owner, "lease")
        yield SnapshotHold(
            kind=kind,
            owner=lease.owner,
            snapshot_id=lease.snapshot_id,
            since_on=True,
            until=lease.until if kind == "lease" or _unread(table, lease) else None,
            command=release_command(table_name(table), lease.owner),
            reason=lease.reason,
        )


def _by_seal(table: Table, consumers: Sequence[Consumer]) -> Iterator[SnapshotHold]:
    nobody_waits = given_up(table)
    for consumer in consumers:
        if consumer.read is None or nobody_waits.get(consumer.name) == consumer.read:
            continue
        snapshot_id = _first_needed(table, consumer.read)
        if snapshot_id is not None:
            yield SnapshotHold(
                kind=consumer.kind,
                owner=consumer.name,
                snapshot_id=snapshot_id,
                since_on=True,
                command=release_command(table_name(table), consumer.name),
                reason=f"its seal says that it reads on after snapshot {consumer.read}, where it has no lease",
            )


def _by_reference(table: Table, orphaned: Collection[str]) -> Iterator[SnapshotHold]:
    name = table_name(table)
    for ref, reference in table.metadata.refs.items():
        if ref == MAIN or (ref.startswith(LEASE_PREFIX) and reference.snapshot_ref_type == SnapshotRefType.TAG):
            continue
        snapshot_id = reference.snapshot_id
        if reference.snapshot_ref_type == SnapshotRefType.BRANCH:
            if ref.startswith(BRANCH_PREFIX):
                command = f"it goes with its publish; if its run has died, `lakehouse housekeep` after {LONGEST_RUN}"
                yield SnapshotHold(kind="attempt", owner=ref, snapshot_id=snapshot_id, command=command)
            else:
                drop = f"ALTER TABLE {name} DROP BRANCH `{ref}`"
                yield SnapshotHold(kind="branch", owner=ref, snapshot_id=snapshot_id, command=drop)
        elif (ends := pin_ends(ref)) is not None:
            command = "it ends by itself, a week after its run began"
            yield SnapshotHold(kind="pin", owner=ref, snapshot_id=snapshot_id, until=ends, command=command)
        elif ref.startswith(TAG_PREFIX):
            follows = ref.endswith(CURRENT_SUFFIX)
            is_orphaned = ref in orphaned
            keep_less = "it moves with the next release" if follows else "declare a smaller `keep` for the release"
            yield SnapshotHold(
                kind="release",
                owner=ref.removeprefix(TAG_PREFIX),
                snapshot_id=snapshot_id,
                command=_drop_tag(name, ref) if is_orphaned else keep_less,
                reason="no declared release looks after it; who reads that release loses it" if is_orphaned else "",
            )
        else:
            kind: HolderKind = "checkpoint" if ref.startswith(CHECKPOINT_PREFIX) else "tag"
            reason = "a mirror began with it; only without that mirror it may go" if is_initial(ref) else ""
            command = _drop_tag(name, ref)
            yield SnapshotHold(kind=kind, owner=ref, snapshot_id=snapshot_id, command=command, reason=reason)


def _drop_tag(table: str, tag: str) -> str:
    return f"ALTER TABLE {table} DROP TAG `{tag}`"


def _by_main(table: Table, now: datetime) -> Iterator[SnapshotHold]:
    """The retention of `main` itself: whoever has set it by SQL wants so much to stay, whatever is declared."""
    main, line = table.metadata.refs.get(MAIN), list(ancestry(table, head_of(table)))
    kept = retained(table, line, int(now.timestamp() * 1000))
    if main is None or not kept:
        return
    limits = [f"{main.min_snapshots_to_keep} snapshots"] if main.min_snapshots_to_keep else []
    age = str(timedelta(milliseconds=main.max_snapshot_age_ms or 0)).removesuffix(", 0:00:00")
    limits += [f"those of {age}"] if main.max_snapshot_age_ms else []
    shorter = "WITH SNAPSHOT RETENTION 1 SNAPSHOTS 1 MINUTES"
    yield SnapshotHold(
        kind="branch",
        owner=MAIN,
        snapshot_id=line[kept - 1].snapshot_id,
        since_on=True,
        command=f"ALTER TABLE {table_name(table)} REPLACE BRANCH `{MAIN}` {shorter}",
        reason=f"its own retention keeps {' and '.join(limits)}",
    )


def _by_evidence(table: Table) -> Iterator[SnapshotHold]:
    """Rewrites from outside that are not proven: without these snapshots nobody could compare the rows."""
    for snapshot_id, foreign_id in evidence(table, head_of(table)).items():
        yield SnapshotHold(
            kind="evidence",
            owner=f"of foreign rewrite {foreign_id}",
            snapshot_id=snapshot_id,
            command="`lakehouse audit` says more; take the rows over by `lakehouse adopt`, or replace them all",
            reason="a rewrite from outside the protocol that nobody has proven",
        )


def _first_needed(table: Table, read: int) -> int | None:
    """The snapshot that was read last, or the one after it where that one's entry has gone already."""
    if table.metadata.snapshot_by_id(read) is not None:
        return read
    after = (snapshot.snapshot_id for snapshot in table.metadata.snapshots if snapshot.parent_snapshot_id == read)
    return next(after, None)


def _unread(table: Table, lease: Lease) -> bool:
    """Whether there are rows that the owner has not read: who has read all is not late, however long nothing comes."""
    for snapshot in ancestry(table, head_of(table)):
        if snapshot.snapshot_id == lease.snapshot_id:
            return False
        if changes_rows(snapshot):
            return True
    return True
