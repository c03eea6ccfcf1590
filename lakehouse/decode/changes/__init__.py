"""Change messages to rows of changelogs: Debezium, AWS DMS, or flat records."""

from lakehouse.decode.changes.decoder import ChangeDecoder
from lakehouse.decode.changes.facts import OPERATIONS, ChangeTable
from lakehouse.decode.changes.keys import Header, read_headers

__all__ = ["OPERATIONS", "ChangeDecoder", "ChangeTable", "Header", "read_headers"]
