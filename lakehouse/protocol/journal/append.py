"""Appends to the audit log what is not in it yet, whoever else does so at the same moment.

The log is outside the fence of any step: many processes append to it. Each reads the log's newest seal, asks what there
is beyond it, and publishes rows and the new position together; `protocol/commit/append.py` asks again where another was
quicker.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from lakehouse.declarations import AUDIT_LOG
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.commit import Missing, append_absent
from lakehouse.protocol.journal.event import Event, Known
from lakehouse.protocol.journal.position import JournalNews, JournalPosition
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base

KIND = "journal"

# Asked for what there is beyond a position; it may ask in turn which events the log holds.
Source = Callable[[JournalPosition, Known], JournalNews]


@dataclass(frozen=True)
class Appended:
    """What came of it.

    Attributes:
        events: that were not in the log.
        more: whether a source had more to tell than one append takes.
        trouble: table → why nobody could look at it; all others are logged.
    """

    events: tuple[Event, ...]
    more: bool
    trouble: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class _Unlogged(Missing):
    appended: Appended


def append(catalog: LakeCatalog, sources: Sequence[Source], *, writer: str) -> Appended:
    """Append what the sources know and the log does not.

    Args:
        catalog: where the log lives; its table must exist.
        sources: whom to ask; each gives events with ids that are the same whenever it is asked.
        writer: who appends, for the seal.

    Raises:
        NoSuchTableError: the log's table does not exist.
        TableBusy: others came first too often.
        ClockSkew: the log's history is ahead of our clock.
        PublishUnresolved: the catalog never gave a clear answer; what was appended is events at the next look.
    """
    attempt = Attempt(run_id=writer, step=KIND)
    return append_absent(catalog, AUDIT_LOG.name, attempt, KIND, lambda base: _unlogged(base, sources)).appended


def _unlogged(log: Base, sources: Sequence[Source]) -> _Unlogged:
    position, events, has_more, failures = JournalPosition.of(log.sealed), list[Event](), False, dict[str, str]()
    for source in sources:
        news = source(position, lambda candidates: known_ids(log, candidates))
        position, has_more = news.position, has_more or news.more
        events += news.events
        failures |= news.trouble
    logged_ids = known_ids(log, events)
    new_events = {event.id: event for event in events if event.id not in logged_ids}
    logged_at = datetime.now(UTC)
    return _Unlogged(
        rows=[event.to_row(logged_at).to_columns() for event in new_events.values()],
        statement=position.to_keys(),
        appended=Appended(tuple(new_events.values()), has_more, failures),
    )


def known_ids(log: Base, events: Sequence[Event]) -> set[str]:
    """Ids of those events that the log holds.

    Events are mostly newer than everything that is logged: then the bounds in the manifests say so, and no data file
    is read.
    """
    if not events or log.snapshot_id is None:
        return set()
    earliest = min(event.timestamp for event in events)
    logged = log.table.scan(
        row_filter=f"at >= '{earliest.isoformat()}'",
        selected_fields=("event_id",),
        snapshot_id=log.snapshot_id,
    ).to_arrow()
    return {event.id for event in events} & set(logged["event_id"].to_pylist())
