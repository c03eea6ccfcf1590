"""The tables of a stream as a step finds them, without those that are gone, damaged or emptied, where others go on.

Such a table takes no part in the publish: no seal of ours may come on top of what nobody understands. Once it is
mended it joins as a table does that was out of its stream (`proofs/audit/absence.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pyiceberg.exceptions import NoSuchTableError

from lakehouse.declarations import Declarations, Stream
from lakehouse.errors import LakehouseError
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.errors import MetadataFileDamaged, SealBroken
from lakehouse.protocol.seals.base import Base, read_bases
from lakehouse.steps.ingest.position import agreed_position, emptied_tables
from lakehouse.steps.ingest.refusals import TableEmptied
from lakehouse.steps.ingest.routes.stopping import require_one_that_goes_on, stops_alone


class RouteTableGone(LakehouseError):
    """A table of a stream does not exist, and the others go on."""


@dataclass(frozen=True)
class Loadable:
    """What of a stream's tables can be written to.

    Attributes:
        bases: table → as it was found.
        unloaded: table → what keeps it from being written to.
    """

    bases: Mapping[str, Base]
    unloaded: Mapping[str, LakehouseError]


def load_tables_of(catalog: LakeCatalog, stream: Stream, declarations: Declarations) -> Loadable:
    """Load the tables of a stream together; one that cannot be written to is left out, where it stops alone.

    Raises:
        NoSuchTableError: a table does not exist that the others cannot go on without.
        MetadataFileDamaged, SealBroken: one is damaged that they cannot go on without.
        LakehouseError: none of them can be written to.
    """
    names = (*stream.tables, stream.quarantine_table)
    unloaded: dict[str, LakehouseError] = {}
    try:
        bases = read_bases(catalog, names)
    except (NoSuchTableError, MetadataFileDamaged, SealBroken):
        for name in names:
            if stops_alone(stream, declarations.tables[name]) and (error := _why_unloaded(catalog, stream, name)):
                unloaded[name] = error
        if not unloaded:
            raise
        require_one_that_goes_on(stream, declarations, unloaded)
        bases = read_bases(catalog, [name for name in names if name not in unloaded])
    for name, rows in _emptied(stream, bases).items():
        if stops_alone(stream, declarations.tables[name]):
            unloaded[name] = TableEmptied(stream.name, {name: rows})
    require_one_that_goes_on(stream, declarations, unloaded)
    return Loadable({name: base for name, base in bases.items() if name not in unloaded}, unloaded)


def _emptied(stream: Stream, bases: Mapping[str, Base]) -> dict[str, int]:
    try:
        return emptied_tables(bases, agreed_position(stream.name, bases))
    except LakehouseError:  # the tables do not agree at all, and the plan refuses that by name
        return {}


def _why_unloaded(catalog: LakeCatalog, stream: Stream, name: str) -> LakehouseError | None:
    try:
        read_bases(catalog, [name])
    except NoSuchTableError:
        return RouteTableGone(
            f"Stream {stream.name}: its table {name} does not exist.",
            remedy="restore it, or make it anew with `lakehouse apply`; then run "
            f"`lakehouse reprocess {stream.name}` for the records that wait",
        )
    except (MetadataFileDamaged, SealBroken) as damage:
        return damage
    return None
