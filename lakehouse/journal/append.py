"""Appends to the audit log what is not in it yet, whoever else does so at the same moment.

The log is outside the fence of any step: many processes append to it. Each reads the log's newest seal, asks what there
is beyond it, and publishes rows and the new position together. If another was quicker, the publish is superseded,
and the whole question is asked again from where that one has come: nothing is written twice, and nothing is lost.
"""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pyarrow as pa
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.table import Transaction

from lakehouse.catalog import LakeCatalog
from lakehouse.commit import (
    Attempt,
    Base,
    ClockSkew,
    CommitError,
    PublishUnresolved,
    Seal,
    Staged,
    abandoned_branches,
    drop_branch,
    failpoint,
    open_branch,
    publish,
    read_bases,
)
from lakehouse.commit.stage import commit_on_branch, seal_on
from lakehouse.journal.event import Event, Known
from lakehouse.journal.position import News, Position
from lakehouse.tables import AUDIT_LOG

KIND = "journal"
_TRIES = 40
_TIDY_TRIES = 10

# Asked for what there is beyond a position; it may ask in turn which events the log holds.
Source = Callable[[Position, Known], News]


class LogBusy(CommitError):
    """Others appended to the audit log again and again while we tried."""


@dataclass(frozen=True)
class Appended:
    """What came of it.

    Attributes:
        events: that were not in the log.
        more: whether a source had more to tell than one append takes.
    """

    events: tuple[Event, ...]
    more: bool


def append(catalog: LakeCatalog, sources: Sequence[Source], *, writer: str) -> Appended:
    """Append what the sources know and the log does not.

    Args:
        catalog: where the log lives; its table must exist.
        sources: whom to ask; each gives events with ids that are the same whenever it is asked.
        writer: who appends, for the seal.

    Raises:
        NoSuchTableError: the log's table does not exist.
        LogBusy: others came first too often.
        ClockSkew: the log's history is ahead of our clock.
        PublishUnresolved: the catalog never gave a clear answer; what was appended is found at the next look.
    """
    trouble: Exception | None = None
    for _ in range(_TRIES):
        base = read_bases(catalog, [AUDIT_LOG.name])[AUDIT_LOG.name]
        position, found, more = Position.of(base.sealed), list[Event](), False
        for source in sources:
            news = source(position, lambda events, base=base: known_ids(base, events))
            position, more = news.position, more or news.more
            found += news.events
        known = known_ids(base, found)
        new = {event.id: event for event in found if event.id not in known}
        if not new:
            return Appended((), more)
        attempt = Attempt(run_id=writer, step=KIND)
        try:
            failpoint("journal.before")
            _publish(catalog, base, attempt, list(new.values()), position)
        except (ClockSkew, PublishUnresolved):
            raise  # asking again would not help
        except (CommitError, CommitFailedException) as error:
            trouble = error
            _tidy(catalog, attempt)
            time.sleep(random.uniform(0.01, 0.2))  # noqa: S311 - jitter, not a secret
        else:
            return Appended(tuple(new.values()), more)
    raise LogBusy(
        f"{AUDIT_LOG.name}: others appended first {_TRIES} times in a row.",
        remedy="nothing is lost: what is missing is appended at the next look",
    ) from trouble


def known_ids(base: Base, events: Sequence[Event]) -> set[str]:
    """Ids of those events that the log holds.

    Events are mostly newer than everything that is logged: then the bounds in the manifests say so, and no data file
    is read.
    """
    if not events or base.snapshot_id is None:
        return set()
    earliest = min(event.at for event in events)
    held = base.table.scan(
        row_filter=f"at >= '{earliest.isoformat()}'",
        selected_fields=("event_id",),
        snapshot_id=base.snapshot_id,
    ).to_arrow()
    return {event.id for event in events} & set(held["event_id"].to_pylist())


def _publish(catalog: LakeCatalog, base: Base, attempt: Attempt, events: Sequence[Event], position: Position) -> None:
    logged_at = datetime.now(UTC)
    schema = schema_to_pyarrow(base.table.schema(), include_field_ids=False)
    rows = pa.Table.from_pylist([event.to_row(logged_at) for event in events], schema=schema)
    previous = base.sealed.seal if base.sealed else None
    seal = Seal.of(attempt, KIND, statement=position.to_keys(), previous=previous)

    def write(transaction: Transaction) -> None:
        transaction.append(rows, snapshot_properties=attempt.marks, branch=attempt.branch)
        seal_on(transaction, attempt.branch, seal)

    open_branch(catalog, base, attempt)
    head = commit_on_branch(catalog, base, attempt.branch, write)
    publish(catalog, [Staged(base, attempt, attempt.branch, head, seal)])


def _tidy(catalog: LakeCatalog, attempt: Attempt) -> None:
    """Remove the branch of a try that was in vain; where others keep being quicker, housekeeping does."""
    for _ in range(_TIDY_TRIES):
        left = [
            abandoned
            for abandoned in abandoned_branches(catalog.load_table(AUDIT_LOG.identifier), older_than=timedelta(0))
            if abandoned.branch.startswith(attempt.branch)
        ]
        try:
            for abandoned in left:
                drop_branch(catalog, abandoned)
        except CommitFailedException:
            continue
        return
