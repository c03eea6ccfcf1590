"""Change messages to rows of changelogs: Debezium, AWS DMS, or flat records."""

from lakehouse.decode.changes.decoder import ChangeDecoder
from lakehouse.decode.changes.facts import OPERATIONS, ChangeTable

__all__ = ["OPERATIONS", "ChangeDecoder", "ChangeTable"]
