"""The audit log: who did what to which table, when, by what code; complete also when Dagster did not see it."""

from lakehouse.journal.append import Appended, append
from lakehouse.journal.deletions import deletions
from lakehouse.journal.event import Event, Known
from lakehouse.journal.position import News, Position
from lakehouse.journal.reading import logged
from lakehouse.journal.reconcile import reconcile

__all__ = ["Appended", "Event", "Known", "News", "Position", "append", "deletions", "logged", "reconcile"]
