"""Change messages to rows of changelogs: Debezium, AWS DMS, or flat records."""

from lakehouse.formats.changes.decoder import ChangeDecoder
from lakehouse.formats.changes.facts import OPERATIONS, ChangeTable
from lakehouse.formats.changes.keys import Header, read_headers, write_headers

__all__ = ["OPERATIONS", "ChangeDecoder", "ChangeTable", "Header", "read_headers", "write_headers"]
