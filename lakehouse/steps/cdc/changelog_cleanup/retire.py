"""Retention of a changelog: changes go that are old enough, and that nobody needs any more.

What goes is, in each Kafka partition, what lies before one offset: older than the declared retention, not newer than
the newest checkpoint of every mirror, and read by everybody else who reads the changelog in ranges. The few changes
stay that a later tombstone may go by. It goes through the protocol: deleted on a branch, sealed with the kind `retire`
in every table of the stream, published. The seals count what went, so the audit still proves what is left.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial, reduce

import msgspec
import polars as pl
from pyiceberg.expressions import And, NotIn, Or
from pyiceberg.table import Transaction

from lakehouse import seal_keys
from lakehouse.declarations import Changelog, Derived, MirrorTables, Stream
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.engines.kafka.tally import Tally
from lakehouse.proofs.audit.coordinates import OFFSET, PARTITION
from lakehouse.proofs.audit.retirement import KIND_RETIRE
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.cleanup.store_clock import require_age_clock
from lakehouse.protocol.commit import Published, open_branch, publish, seal_branch
from lakehouse.protocol.commit.stage import commit_on_branch
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base, read_bases
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.cdc.changelog_cleanup.change_age import TIME, young_changes
from lakehouse.steps.cdc.changelog_cleanup.kept_changes import kept_changes
from lakehouse.steps.cdc.changelog_cleanup.proven_mirrors import ProvenMirror, proven_mirrors, proven_offsets
from lakehouse.steps.cdc.changelog_cleanup.readers import CannotRetire, read_on_or_release, readers_of
from lakehouse.steps.cdc.replay.piecewise import frames, offsets_between


@dataclass(frozen=True)
class Retired:
    """What went.

    Args:
        before: Kafka partition → offset before which everything went that was not kept.
        rows: how many changes.
    """

    before: Mapping[int, int]
    rows: int
    published: Published


@dataclass(frozen=True)
class Retirable:
    """What may go, seen from one load of the stream's tables.

    Args:
        bases: the tables of the stream.
        statement: what they say.
        before: Kafka partition → offset before which everything may go but what is kept.
        tallies: partition → tally of that.
        mirrors: every mirror of the changelog, with the checkpoint that stands for what goes.
        kept: partition → offsets before the bound that stay.
        behind: who has not read all that could go else, by name.
    """

    bases: Mapping[str, Base]
    statement: KafkaStatement
    before: Mapping[int, int]
    tallies: Mapping[int, Tally]
    mirrors: tuple[ProvenMirror, ...] = ()
    kept: Mapping[int, frozenset[int]] = field(default_factory=dict[int, frozenset[int]])
    behind: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        """How many changes."""
        return sum(tally.count for tally in self.tallies.values())


def find_retirable(
    catalog: LakeCatalog,
    log: Changelog,
    stream: Stream,
    mirrors: Sequence[MirrorTables],
    *,
    followers: Sequence[Derived] = (),
    now: datetime | None = None,
) -> Retirable | None:
    """Find the changes that are older than the changelog's retention, in a checkpoint of every mirror, and read.

    Args:
        catalog: where the tables live.
        log: the changelog.
        stream: its stream, all of whose tables are sealed.
        mirrors: every mirror that follows the changelog.
        followers: every incremental table that follows it; other readers are known by their leases.
        now: from when retention counts back.

    Raises:
        CannotRetire: a mirror has no checkpoint, the stream's tables do not agree, or somebody has read nothing of
            what is old enough.
    """
    if log.retention is None:
        return None
    bases = read_bases(catalog, [*stream.tables, stream.quarantine_table])
    statement = _agreed_statement(log.name, bases)
    proven = proven_mirrors(catalog, mirrors, statement, log.name)
    moment, changelog = now or datetime.now(UTC), bases[log.name]
    old = _old_changes(changelog, offsets := proven_offsets(proven, statement))
    before = _bounds(old, offsets, moment, log.retention)
    readers = readers_of(catalog, changelog, statement, mirrors, followers) if before else ()
    behind = tuple(reader.name for reader in readers if reader.is_behind(before))
    if behind:
        read = {p: min([offset, *(reader.end.get(p, 0) for reader in readers)]) for p, offset in before.items()}
        before = _bounds(old, read, moment, log.retention)
        if not before:
            raise CannotRetire(
                f"Nothing of {log.name} can go before {' and '.join(behind)} reads it.",
                remedy=read_on_or_release(log.name, behind),
            )
    kept = kept_changes(changelog, proven, offsets, before) if before else {}
    tallies, before = _tallies(old, before, kept)
    return Retirable(bases, statement, before, tallies, proven, kept, behind) if tallies else None


def retire_changelog(
    catalog: LakeCatalog,
    log: Changelog,
    stream: Stream,
    mirrors: Sequence[MirrorTables],
    attempt: Attempt,
    *,
    followers: Sequence[Derived] = (),
    now: datetime | None = None,
) -> Retired | None:
    """Remove what `find_retirable` finds, through the protocol.

    Returns:
        What went, or None where nothing was old enough.

    Raises:
        CannotRetire: as for `find_retirable`.
        CommitError: the publish did not go through, for example because an ingest came first; nothing was removed.
    """
    retirable = find_retirable(catalog, log, stream, mirrors, followers=followers, now=now)
    return None if retirable is None else remove_retirable(catalog, log, retirable, attempt)


def remove_retirable(catalog: LakeCatalog, log: Changelog, retirable: Retirable, attempt: Attempt) -> Retired:
    """Remove just what was found, through the protocol.

    Raises:
        ClockSkew: this machine's clock is ahead of the store's; nothing was removed.
        CannotRetire: a mirror was rebuilt or set back since; nothing was removed.
        CommitError: the publish did not go through, for example because an ingest came first; nothing was removed.
    """
    bases, statement, before = retirable.bases, retirable.statement, retirable.before
    log_base = bases[log.name]
    require_age_clock(log_base.table)
    retired_keys = statement.without_rows(log.name, retirable.tallies).to_keys()
    keys = {**retired_keys, seal_keys.RETIRE_BEFORE: msgspec.json.encode(before).decode()}
    open_branch(catalog, log_base, attempt)
    commit_on_branch(catalog, log_base, attempt.branch, lambda transaction: _delete(transaction, attempt, retirable))
    staged = [
        seal_branch(
            catalog,
            base,
            attempt,
            Seal.of(attempt, KIND_RETIRE, statement=keys, previous=base.sealed and base.sealed.seal),
        )
        for base in bases.values()
    ]
    conditions = [partial(mirror.still_stands, catalog) for mirror in retirable.mirrors]
    return Retired(before, retirable.rows, publish(catalog, staged, conditions=conditions))


def _agreed_statement(name: str, bases: Mapping[str, Base]) -> KafkaStatement:
    """What all tables of the stream say; totals that cover several logs have no order of offsets to cut by."""
    if unsealed := [base.name for base in bases.values() if base.sealed is None or base.unsealed]:
        raise CannotRetire(
            f"{', '.join(unsealed)}: not everything is sealed.",
            remedy="look at `lakehouse audit`, then `lakehouse adopt`",
        )
    statements = [KafkaStatement.from_keys(base.sealed.seal.statement) for base in bases.values() if base.sealed]
    first = statements[0]
    if first is None or any(other != first for other in statements):
        raise CannotRetire(f"The tables of {name}'s stream do not agree.", remedy="look at `lakehouse audit`")
    if not first.origin:
        raise CannotRetire(
            f"{name} holds changes of several topics, or adopted ones, whose offsets have no order.",
            remedy="keep them, or begin a new changelog",
        )
    return first


def _old_changes(base: Base, proven: Mapping[int, int]) -> pl.DataFrame:
    """Coordinates and times of the changes that a checkpoint of every mirror stands for."""
    columns = (PARTITION, OFFSET, TIME)
    pieces = [
        piece.select(columns) for piece in frames(base.table, base.snapshot_id, columns, offsets_between(None, proven))
    ]
    return pl.concat(pieces) if pieces else pl.DataFrame()


def _bounds(old: pl.DataFrame, readable: Mapping[int, int], now: datetime, retention: timedelta) -> dict[int, int]:
    """Where the first change is that must stay, by partition; without partitions that have nothing before it."""
    if old.is_empty():
        return {}
    young = young_changes(old, now, retention).group_by(PARTITION).agg(pl.col(OFFSET).min())
    first = dict(young.iter_rows())
    bounds = {partition: min(offset, first.get(partition, offset)) for partition, offset in sorted(readable.items())}
    return {partition: bound for partition, bound in bounds.items() if old.filter(_is_before(partition, bound)).height}


def _tallies(
    old: pl.DataFrame, before: Mapping[int, int], kept: Mapping[int, frozenset[int]]
) -> tuple[dict[int, Tally], dict[int, int]]:
    """What goes, by partition, and the bounds of those partitions of which something does."""
    tallies: dict[int, Tally] = {}
    for partition, bound in before.items():
        going = old.filter(_is_before(partition, bound) & ~pl.col(OFFSET).is_in(list(kept.get(partition, ()))))
        if going.height:
            tallies[partition] = Tally.of(going[OFFSET].to_numpy())
    return tallies, {partition: before[partition] for partition in tallies}


def _is_before(partition: int, bound: int) -> pl.Expr:
    return (pl.col(PARTITION) == partition) & (pl.col(OFFSET) < bound)


def _delete(transaction: Transaction, attempt: Attempt, retirable: Retirable) -> None:
    where = [
        And(offsets_between(None, {partition: bound}), NotIn(OFFSET, retirable.kept.get(partition, frozenset())))  # pyright: ignore[reportCallIssue]
        for partition, bound in retirable.before.items()
    ]
    transaction.delete(reduce(Or, where), snapshot_properties=attempt.marks, branch=attempt.branch)
