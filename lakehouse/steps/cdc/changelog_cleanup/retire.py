"""Retention of a changelog: changes go that are old enough, and that no mirror needs any more.

What goes is, in each Kafka partition, everything before one offset: older than the declared retention, and not newer
than the newest checkpoint of every mirror. It goes through the protocol: deleted on a branch, sealed with the kind
`retire` in every table of the stream, published. The seals count what went, so the audit still proves what is left.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import msgspec
import polars as pl
from pyiceberg.table import Table, Transaction
from pyiceberg.table.snapshots import Snapshot

from lakehouse import seal_keys
from lakehouse.declarations import Changelog, MirrorTables, Stream
from lakehouse.engines.kafka.statement import Counts, KafkaStatement
from lakehouse.engines.kafka.tally import Tally, added
from lakehouse.errors import LakehouseError
from lakehouse.proofs.audit.coordinates import OFFSET, PARTITION
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.commit import Published, open_branch, publish, seal_branch
from lakehouse.protocol.commit.stage import commit_on_branch
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base, read_bases
from lakehouse.protocol.seals.history import attempt_of, head_of, seals
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.cdc.evidence import read_evidence
from lakehouse.steps.cdc.replay.checkpoints import newest_checkpoint
from lakehouse.steps.cdc.replay.piecewise import frames, offsets_between

KIND_RETIRE = "retire"
_TIME = "_kafka_timestamp"


class CannotRetire(LakehouseError):
    """Changes cannot go without a mirror or a proof losing something."""


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
        said: what they say.
        before: Kafka partition → offset before which everything may go.
        gone: partition → tally of that.
    """

    bases: Mapping[str, Base]
    said: KafkaStatement
    before: Mapping[int, int]
    gone: Mapping[int, Tally]

    @property
    def rows(self) -> int:
        """How many changes."""
        return sum(tally.count for tally in self.gone.values())


def find_retirable(
    catalog: LakeCatalog,
    log: Changelog,
    stream: Stream,
    mirrors: Sequence[MirrorTables],
    *,
    now: datetime | None = None,
) -> Retirable | None:
    """Find the changes that are older than the changelog's retention and in a checkpoint of every mirror.

    Args:
        catalog: where the tables live.
        log: the changelog.
        stream: its stream, all of whose tables are sealed.
        mirrors: every mirror that follows the changelog.
        now: from when retention counts back.

    Raises:
        CannotRetire: a mirror has no checkpoint, or the stream's tables do not agree.
    """
    if log.retention is None:
        return None
    bases = read_bases(catalog, [*stream.tables, stream.quarantine_table])
    said = _agreed(log.name, bases)
    cut = _proven(catalog, mirrors, said, log.name)
    gone, before = _old(bases[log.name], cut, (now or datetime.now(UTC)) - log.retention)
    return Retirable(bases, said, before, gone) if gone else None


def retire_changelog(
    catalog: LakeCatalog,
    log: Changelog,
    stream: Stream,
    mirrors: Sequence[MirrorTables],
    attempt: Attempt,
    *,
    now: datetime | None = None,
) -> Retired | None:
    """Remove what `find_retirable` finds, through the protocol.

    Returns:
        What went, or None where nothing was old enough.

    Raises:
        CannotRetire: a mirror has no checkpoint, or the stream's tables do not agree.
        CommitError: the publish did not go through, for example because an ingest came first; nothing was removed.
    """
    found = find_retirable(catalog, log, stream, mirrors, now=now)
    return None if found is None else retire_found(catalog, log, found, attempt)


def retire_found(catalog: LakeCatalog, log: Changelog, found: Retirable, attempt: Attempt) -> Retired:
    """Remove just what was found, through the protocol.

    Raises:
        CommitError: the publish did not go through, for example because an ingest came first; nothing was removed.
    """
    bases, said, before, gone = found.bases, found.said, found.before, found.gone
    base = bases[log.name]
    told = replace(
        said,
        start=dict(said.end),
        tallies={},
        lost={},
        counts=Counts(),
        retired=added(said.retired, {log.name: dict(gone)}),
    )
    keys = {**told.to_keys(), seal_keys.RETIRE_BEFORE: msgspec.json.encode(before).decode()}
    open_branch(catalog, base, attempt)
    commit_on_branch(catalog, base, attempt.branch, lambda transaction: _delete(transaction, attempt, before))
    staged = [
        seal_branch(
            catalog,
            each,
            attempt,
            Seal.of(attempt, KIND_RETIRE, statement=keys, previous=each.sealed and each.sealed.seal),
        )
        for each in bases.values()
    ]
    return Retired(before, found.rows, publish(catalog, staged))


def is_harmless(changelog: Table, snapshot: Snapshot, consumed: Mapping[int, int]) -> bool:
    """Whether a snapshot only removed changes that a mirror has consumed: what its plan may pass over.

    Args:
        changelog: a loaded changelog.
        snapshot: one of `main`.
        consumed: Kafka partition → first offset that the mirror has not consumed, as its seal says.

    Raises:
        SealBroken: a seal was changed after it was written.
    """
    attempt = attempt_of(snapshot)
    for sealed in seals(changelog, head_of(changelog)):
        if attempt is not None and sealed.seal.attempt == attempt and sealed.seal.kind == KIND_RETIRE:
            before = msgspec.json.decode(sealed.seal.statement[seal_keys.RETIRE_BEFORE], type=dict[int, int])
            return all(offset <= consumed.get(partition, 0) for partition, offset in before.items())
    return False


def _agreed(name: str, bases: Mapping[str, Base]) -> KafkaStatement:
    """What all tables of the stream say; totals that cover several logs have no order of offsets to cut by."""
    if wrong := [each.name for each in bases.values() if each.sealed is None or each.unsealed]:
        raise CannotRetire(
            f"{', '.join(wrong)}: not everything is sealed.", remedy="look at `lakehouse audit`, then `lakehouse adopt`"
        )
    told = [KafkaStatement.from_keys(each.sealed.seal.statement) for each in bases.values() if each.sealed]
    first = told[0]
    if first is None or any(other != first for other in told):
        raise CannotRetire(f"The tables of {name}'s stream do not agree.", remedy="look at `lakehouse audit`")
    if not first.origin:
        raise CannotRetire(
            f"{name} holds changes of several topics, or adopted ones, whose offsets have no order.",
            remedy="keep them, or begin a new changelog",
        )
    return first


def _proven(
    catalog: LakeCatalog, mirrors: Sequence[MirrorTables], said: KafkaStatement, changelog: str
) -> dict[int, int]:
    """Up to where every mirror could be checked without the changes before."""
    cut = dict(said.end)
    for tables in mirrors:
        checkpoint = newest_checkpoint(read_evidence(catalog, tables))
        if checkpoint is None:
            raise CannotRetire(
                f"{tables.mirror.name} has no checkpoint, so its changes cannot go.", remedy="make a checkpoint first"
            )
        if checkpoint.statement.reprocessed != said.reprocessed_rows(changelog):
            raise CannotRetire(
                f"Changes of {changelog} were reprocessed after the newest checkpoint of {tables.mirror.name}.",
                remedy="let the mirror run, then make a checkpoint",
            )
        reached = checkpoint.statement.kafka_end
        cut = {partition: min(offset, reached.get(partition, 0)) for partition, offset in cut.items()}
    return cut


def _old(base: Base, cut: Mapping[int, int], until: datetime) -> tuple[dict[int, Tally], dict[int, int]]:
    """What is before the first change that must stay, by partition: its tally, and where that is."""
    pieces = frames(base.table, base.snapshot_id, (PARTITION, OFFSET, _TIME), offsets_between(None, cut))
    known = [piece for piece in pieces if piece.height]
    if not known:
        return {}, {}
    rows = pl.concat(known)
    young = rows.filter(pl.col(_TIME) >= until).group_by(PARTITION).agg(pl.col(OFFSET).min())
    first = dict(young.iter_rows())
    gone: dict[int, Tally] = {}
    before: dict[int, int] = {}
    for partition, offset in sorted(cut.items()):
        bound = min(offset, first.get(partition, offset))
        here = rows.filter((pl.col(PARTITION) == partition) & (pl.col(OFFSET) < bound))[OFFSET].to_numpy()
        if len(here):
            gone[partition], before[partition] = Tally.of(here), bound
    return gone, before


def _delete(transaction: Transaction, attempt: Attempt, before: Mapping[int, int]) -> None:
    transaction.delete(offsets_between(None, before), snapshot_properties=attempt.marks, branch=attempt.branch)
