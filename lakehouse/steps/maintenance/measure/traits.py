"""What of a table decides which operations it can bear: its version, its properties, who writes and who reads it."""

from pyiceberg.table import Table as IcebergTable

from lakehouse.declarations import OWN_TABLES, Declarations, Table
from lakehouse.iceberg.locations import PATH_PROPERTIES, lies_elsewhere
from lakehouse.iceberg.own_files import is_outside_warehouse
from lakehouse.protocol.seals.history import MAIN, last_seal, summary_of
from lakehouse.steps.maintenance.model.state import Traits

_GOES_BY = (
    "gc.enabled",
    "history.expire.max-ref-age-ms",
    *PATH_PROPERTIES,
    "write.distribution-mode",
    "write.spark.fanout.enabled",
    "write.delete.mode",
    "write.update.mode",
    "write.merge.mode",
)


def traits_of(table: IcebergTable, declared: Table, declarations: Declarations) -> Traits:
    """Read them from a table's document and from the declarations.

    Raises:
        SealBroken: the newest seal was changed.
    """
    metadata = table.metadata
    order = metadata.sort_order_by_id(metadata.default_sort_order_id)
    return Traits(
        format_version=metadata.format_version,
        sealed=last_seal(table) is not None or MAIN not in metadata.refs,
        sorted=bool(order and order.fields),
        partitioned=not metadata.spec().is_unpartitioned(),
        gc_enabled=metadata.properties.get("gc.enabled", "true").lower() == "true",
        own_location=_elsewhere(table),
        statistics_rows=_statistics_rows(table),
        properties={key: metadata.properties[key] for key in _GOES_BY if key in metadata.properties},
        writer=writer_of(declared.name, declarations),
        followed_by=tuple(sorted(_followers(declared.name, declarations))),
        readers=len(_readers(declared.name, declarations)),
        not_loaded=tuple(str(broken) for broken in declarations.broken),
    )


def writer_of(name: str, declarations: Declarations) -> str:
    """What kind of step writes a table: stream, changelog, mirror, derived, release, own, or none that we know."""
    if name in OWN_TABLES:
        return "own"
    if name in declarations.changelogs:
        return "changelog"
    writer = declarations.writer(name)
    return "none" if writer is None else type(writer).__name__.lower()


def _followers(name: str, declarations: Declarations) -> set[str]:
    """Who reads the table in ranges of snapshots, and so would take new files for new rows."""
    mirrors = {mirror.mirror.name for mirror in declarations.mirrors.values() if mirror.changelog.name == name}
    return mirrors | {
        table.name
        for table in declarations.derived.values()
        if table.follows is not None and table.inputs[table.follows] == name
    }


def _readers(name: str, declarations: Declarations) -> set[str]:
    derived = {table.name for table in declarations.derived.values() if name in table.inputs.values()}
    releases = {f"release {release.name}" for release in declarations.releases.values() if name in release.members}
    return derived | releases | _followers(name, declarations)


def _elsewhere(table: IcebergTable) -> str:
    if is_outside_warehouse(table.catalog, table.location()):
        return "it lies outside of the catalog's warehouse"
    return next((f"{key} is set" for key in lies_elsewhere(table.properties)), "")


def _statistics_rows(table: IcebergTable) -> int | None:
    """Rows at the newest snapshot that has statistics of columns."""
    measured = {statistics.snapshot_id for statistics in table.metadata.statistics}
    snapshots = [snapshot for snapshot in table.metadata.snapshots if snapshot.snapshot_id in measured]
    newest = max(snapshots, key=lambda snapshot: snapshot.timestamp_ms, default=None)
    return int(summary_of(newest).get("total-records", 0)) if newest is not None else None
