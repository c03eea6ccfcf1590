"""News of tables of other catalogs: nobody here writes them, so Dagster is told of what others have published there."""

from collections.abc import Iterator

import structlog
from dagster import AssetKey, AssetMaterialization, DagsterInstance
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table
from requests import RequestException

from lakehouse.declarations import Declarations
from lakehouse.declarations.registry.other_catalogs import inputs_elsewhere
from lakehouse.errors import LakehouseError
from lakehouse.iceberg.names import identifier_of
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES, DagsterNames
from lakehouse.proofs.lineage.content import ContentChange, compare
from lakehouse.protocol.catalog import CANNOT_LOAD, LakeCatalog
from lakehouse.protocol.seals.history import head_of

_SNAPSHOT = "snapshot id"
_log = structlog.get_logger(__name__)


def news_elsewhere(
    catalog: LakeCatalog, declarations: Declarations, instance: DagsterInstance, names: DagsterNames = DEFAULT_NAMES
) -> Iterator[AssetMaterialization]:
    """What Dagster has not heard of tables of other catalogs: rows that are new since it was told last.

    A table that does not answer says so in the log, and is asked again at the next look.

    Args:
        catalog: the own one, which knows the others.
        declarations: with the derived tables that read there.
        instance: where events are stored.
        names: how Dagster knows tables.
    """
    for name in inputs_elsewhere(declarations):
        try:
            table = catalog.load_table(identifier_of(name))
        except (*CANNOT_LOAD, NoSuchTableError, RequestException, LakehouseError) as error:
            _log.warning("table_not_loaded", table=name, reason=type(error).__name__)
            continue
        key, head = names.key(name), head_of(table)
        if head is not None and _is_new(table, head, _told(instance, key)):
            yield AssetMaterialization(
                asset_key=key,
                description="Seen in its catalog, where others have written it.",
                metadata={_SNAPSHOT: str(head)},
                tags={"dagster/data_version": str(head)},
            )


def _told(instance: DagsterInstance, key: AssetKey) -> int | None:
    latest = instance.get_latest_materialization_event(key)
    told = latest.asset_materialization if latest is not None else None
    snapshot = told.metadata.get(_SNAPSHOT) if told is not None else None
    return int(str(snapshot.value)) if snapshot is not None else None


def _is_new(table: Table, head: int, told: int | None) -> bool:
    return told is None or compare(table, told, head) is not ContentChange.SAME
