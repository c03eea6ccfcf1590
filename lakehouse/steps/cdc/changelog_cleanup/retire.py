"""Retention of a changelog: changes go that are old enough, and that nobody needs any more.

What goes is, in each Kafka partition, everything before one offset: older than the declared retention, not newer than
the newest checkpoint of every mirror, and read by everybody else who reads the changelog in ranges. It goes through the
protocol: deleted on a branch, sealed with the kind `retire` in every table of the stream, published. The seals count
what went, so the audit still proves what is left.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import msgspec
import polars as pl
from pyiceberg.table import Transaction

from lakehouse import seal_keys
from lakehouse.declarations import Changelog, Derived, MirrorTables, Stream
from lakehouse.engines.kafka.statement import Counts, KafkaStatement
from lakehouse.engines.kafka.tally import Tally, added
from lakehouse.proofs.audit.coordinates import OFFSET, PARTITION
from lakehouse.proofs.audit.retirement import KIND_RETIRE
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.commit import Published, open_branch, publish, seal_branch
from lakehouse.protocol.commit.stage import commit_on_branch
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base, read_bases
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.cdc.changelog_cleanup.change_age import TIME, young_changes
from lakehouse.steps.cdc.changelog_cleanup.readers import CannotRetire, read_on_or_release, readers_of
from lakehouse.steps.cdc.evidence import read_evidence
from lakehouse.steps.cdc.replay.checkpoints import newest_checkpoint
from lakehouse.steps.cdc.replay.piecewise import frames, offsets_between


@dataclass(frozen=True)
class Retired:
    """What went.

    Args:
        before: Kafka partition → offset before which everything went.
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
        before: Kafka partition → offset before which everything may go.
        tallies: partition → tally of that.
        behind: who has not read all that could go else, by name.
    """

    bases: Mapping[str, Base]
    statement: KafkaStatement
    before: Mapping[int, int]
    tallies: Mapping[int, Tally]
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
    proven_offsets = _proven_offsets(catalog, mirrors, statement, log.name)
    moment = now or datetime.now(UTC)
    tallies, before = _retirable_offsets(bases[log.name], proven_offsets, moment, log.retention)
    readers = readers_of(catalog, bases[log.name], statement, mirrors, followers) if tallies else ()
    behind = tuple(reader.name for reader in readers if reader.is_behind(before))
    if behind:
        read = {p: min([offset, *(reader.end.get(p, 0) for reader in readers)]) for p, offset in before.items()}
        tallies, before = _retirable_offsets(bases[log.name], read, moment, log.retention)
        if not tallies:
            raise CannotRetire(
                f"Nothing of {log.name} can go before {' and '.join(behind)} reads it.",
                remedy=read_on_or_release(log.name, behind),
            )
    return Retirable(bases, statement, before, tallies, behind) if tallies else None


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
        CommitError: the publish did not go through, for example because an ingest came first; nothing was removed.
    """
    bases, statement, before = retirable.bases, retirable.statement, retirable.before
    log_base = bases[log.name]
    retired_statement = replace(
        statement,
        start=dict(statement.end),
        tallies={},
        lost={},
        counts=Counts(),
        retired=added(statement.retired, {log.name: dict(retirable.tallies)}),
    )
    keys = {**retired_statement.to_keys(), seal_keys.RETIRE_BEFORE: msgspec.json.encode(before).decode()}
    open_branch(catalog, log_base, attempt)
    commit_on_branch(catalog, log_base, attempt.branch, lambda transaction: _delete(transaction, attempt, before))
    staged = [
        seal_branch(
            catalog,
            base,
            attempt,
            Seal.of(attempt, KIND_RETIRE, statement=keys, previous=base.sealed and base.sealed.seal),
        )
        for base in bases.values()
    ]
    return Retired(before, retirable.rows, publish(catalog, staged))


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


def _proven_offsets(
    catalog: LakeCatalog, mirrors: Sequence[MirrorTables], statement: KafkaStatement, changelog: str
) -> dict[int, int]:
    """Up to where every mirror could be checked without the changes before."""
    proven_offsets = dict(statement.end)
    for tables in mirrors:
        checkpoint = newest_checkpoint(read_evidence(catalog, tables))
        if checkpoint is None:
            raise CannotRetire(
                f"{tables.mirror.name} has no checkpoint, so its changes cannot go.",
                remedy=f"`lakehouse checkpoint {tables.mirror.name}`",
            )
        if checkpoint.statement.reprocessed != statement.reprocessed_rows(changelog):
            raise CannotRetire(
                f"Changes of {changelog} were reprocessed after the newest checkpoint of {tables.mirror.name}.",
                remedy="let the mirror run, then make a checkpoint",
            )
        reached = checkpoint.statement.kafka_end
        proven_offsets = {
            partition: min(offset, reached.get(partition, 0)) for partition, offset in proven_offsets.items()
        }
    return proven_offsets


def _retirable_offsets(
    base: Base, proven_offsets: Mapping[int, int], now: datetime, retention: timedelta
) -> tuple[dict[int, Tally], dict[int, int]]:
    """What is before the first change that must stay, by partition: its tally, and where that is."""
    pieces = frames(base.table, base.snapshot_id, (PARTITION, OFFSET, TIME), offsets_between(None, proven_offsets))
    known = [piece for piece in pieces if piece.height]
    if not known:
        return {}, {}
    rows = pl.concat(known)
    young = young_changes(rows, now, retention).group_by(PARTITION).agg(pl.col(OFFSET).min())
    first = dict(young.iter_rows())
    tallies: dict[int, Tally] = {}
    before: dict[int, int] = {}
    for partition, offset in sorted(proven_offsets.items()):
        bound = min(offset, first.get(partition, offset))
        offsets = rows.filter((pl.col(PARTITION) == partition) & (pl.col(OFFSET) < bound))[OFFSET].to_numpy()
        if len(offsets):
            tallies[partition], before[partition] = Tally.of(offsets), bound
    return tallies, before


def _delete(transaction: Transaction, attempt: Attempt, before: Mapping[int, int]) -> None:
    transaction.delete(offsets_between(None, before), snapshot_properties=attempt.marks, branch=attempt.branch)
