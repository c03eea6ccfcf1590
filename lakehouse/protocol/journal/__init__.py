"""The audit log: who did what to which table, when, by what code; complete also when Dagster did not see it."""

from lakehouse.protocol.journal.append import Appended, append
from lakehouse.protocol.journal.deletions import deletions
from lakehouse.protocol.journal.event import KINDS, Event, Known
from lakehouse.protocol.journal.position import JournalNews, JournalPosition
from lakehouse.protocol.journal.reading import logged
from lakehouse.protocol.journal.reconcile import reconcile

__all__ = [
    "KINDS",
    "Appended",
    "Event",
    "JournalNews",
    "JournalPosition",
    "Known",
    "append",
    "deletions",
    "logged",
    "reconcile",
]
