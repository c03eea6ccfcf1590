"""Change messages to rows of changelogs: Debezium, AWS DMS, or flat records."""

from lakehouse.formats.changes.decoder import ChangeDecoder
from lakehouse.formats.changes.facts import OPERATIONS, ChangeTable

__all__ = ["OPERATIONS", "ChangeDecoder", "ChangeTable"]
