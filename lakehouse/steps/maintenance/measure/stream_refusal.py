"""Whether the stream of a table can go on: one whose tables are not at one position has to be repaired first.

The repair moves tables between snapshots. What is rewritten or expired meanwhile stands in its way.
"""

from pyiceberg.exceptions import NoSuchTableError

from lakehouse.declarations import Declarations, Stream
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.errors import SealBroken
from lakehouse.protocol.seals.base import read_bases
from lakehouse.steps.ingest.position import stored_position
from lakehouse.steps.ingest.refusals import IngestRefused, PositionsDiffer, PublishStopped, TableEmptied


def stream_refusal(catalog: LakeCatalog, declarations: Declarations, table: str) -> str:
    """Why the stream that writes a table refuses to go on; empty where it goes on, or where no stream writes it."""
    stream = declarations.writer(table)
    if not isinstance(stream, Stream):
        return ""
    try:
        stored_position(stream.name, read_bases(catalog, [*stream.tables, stream.quarantine_table]))
    except (PositionsDiffer, PublishStopped, TableEmptied, SealBroken) as refused:
        return refused.message
    except (NoSuchTableError, IngestRefused):
        # A table that is yet to be made, and commits from outside: the latter are told of by the table's own audit.
        return ""
    return ""
