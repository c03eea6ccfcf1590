"""Materializations that Dagster never heard of: a run was killed after its publish, or Dagster's database was lost.

The tables know. Of each, the newest publish of a run (of a table in partitions, of each of them) is compared with what
Dagster has stored; where it is not there, it is told as the asset would have told it. An older one is not told any
more: it would then pass for the newest. It is in the audit log all the same.

Of tables of other catalogs nobody here tells Dagster anything: what others have published there is news of this kind.
"""

import uuid
from collections.abc import Collection, Iterator

import msgspec
import structlog
from dagster import AssetKey, AssetMaterialization, AssetRecordsFilter, DagsterInstance
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table as IcebergTable
from requests import RequestException

from lakehouse import seal_keys
from lakehouse.declarations import Declarations, Mirror, Stream, Table
from lakehouse.declarations.registry.other_catalogs import inputs_elsewhere
from lakehouse.errors import LakehouseError
from lakehouse.iceberg.names import identifier_of, name_of
from lakehouse.orchestration.automation.run_history import FINISHED
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES, DagsterNames
from lakehouse.orchestration.resources.materialization import table_metadata
from lakehouse.orchestration.run_context import MIRROR_TAG, RUNTIME_DATE_TAG, STREAM_TAG
from lakehouse.proofs.lineage.content import ContentChange, compare
from lakehouse.protocol.catalog import CANNOT_LOAD, LakeCatalog
from lakehouse.protocol.errors import SealBroken
from lakehouse.protocol.seals.history import Sealed, head_of, seals
from lakehouse.protocol.seals.row_count import row_count

_log = structlog.get_logger(__name__)
# So many stored materializations are compared; a rollback by hand makes an old one the newest again.
_LOOKED_BACK = 50
# Seals that say something of a table without having written its rows for an asset.
_NO_MATERIALIZATION = ("maintenance", "retire", "deduplicate")


def unheard(
    catalog: LakeCatalog,
    declarations: Declarations,
    instance: DagsterInstance,
    assets: Collection[AssetKey],
    names: DagsterNames = DEFAULT_NAMES,
) -> list[AssetMaterialization]:
    """Compare the newest publish of tables with what Dagster has stored; returns what it is to be told.

    Nothing of a run that has not ended: it may still tell by itself.

    Args:
        catalog: where the tables live.
        declarations: of the tables.
        instance: where materializations are stored.
        assets: which tables are materialized by a run; what checks keep for themselves is not.
        names: how Dagster knows tables.
    """
    materializations: list[AssetMaterialization] = []
    known = [name for name in sorted(declarations.tables) if names.key(name) in assets]
    for identifier in catalog.locations([identifier_of(name) for name in known]).known:
        try:
            table, key = catalog.load_table(identifier), names.key(name_of(identifier))
        except CANNOT_LOAD as error:  # the audit log names it, and the next look asks again
            _log.warning("table_not_loaded", table=name_of(identifier), reason=type(error).__name__)
            continue
        for sealed in _newest(table):
            if _heard(instance, key, sealed):
                continue
            run = instance.get_run_by_id(sealed.seal.run_id)
            # Asked again: between the two looks the run may have told, and ended.
            if (run is None or run.status in FINISHED) and not _heard(instance, key, sealed):
                materializations += _materializations(
                    declarations.tables[name_of(identifier)], key, table, sealed, declarations
                )
    return materializations


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
        if head is not None and _is_new(table, head, _reported_snapshot(instance, key)):
            yield AssetMaterialization(
                asset_key=key,
                description="Seen in its catalog, where others have written it.",
                metadata={"snapshot id": str(head)},
                tags={"dagster/data_version": str(head)},
            )


def _newest(table: IcebergTable) -> list[Sealed]:
    """The newest seal of a Dagster run, for each part that is computed on its own.

    Nothing where a seal is broken, which the audit log tells.
    """
    newest: dict[str, Sealed] = {}
    try:
        for sealed in seals(table, head_of(table)):
            if _of_an_asset(sealed):
                newest.setdefault(sealed.seal.statement.get(seal_keys.DERIVED_PARTITION, ""), sealed)
    except SealBroken:
        return []
    return list(newest.values())


def _of_an_asset(sealed: Sealed) -> bool:
    # Commands write in the name of no Dagster run.
    try:
        uuid.UUID(sealed.seal.run_id)
    except ValueError:
        return False
    return sealed.seal.kind not in _NO_MATERIALIZATION


def _heard(instance: DagsterInstance, key: AssetKey, sealed: Sealed) -> bool:
    latest = instance.get_latest_materialization_event(key)
    if latest is None:
        return False
    if _is_of(latest.asset_materialization, sealed):
        return True
    stored = instance.fetch_materializations(AssetRecordsFilter(asset_key=key), limit=_LOOKED_BACK).records
    return any(_is_of(record.asset_materialization, sealed) for record in stored)


def _is_of(materialization: AssetMaterialization | None, sealed: Sealed) -> bool:
    if materialization is None:
        return False
    snapshot = materialization.metadata.get("snapshot id")
    attempt = (materialization.tags or {}).get("lakehouse/attempt")
    return attempt == sealed.seal.attempt or (snapshot is not None and str(snapshot.value) == str(sealed.snapshot_id))


def _materializations(
    declared: Table, key: AssetKey, table: IcebergTable, sealed: Sealed, declarations: Declarations
) -> Iterator[AssetMaterialization]:
    seal, snapshot = sealed.seal, table.metadata.snapshot_by_id(sealed.snapshot_id)
    rows = row_count(table, sealed.snapshot_id) if snapshot else None
    tags = {
        RUNTIME_DATE_TAG: seal.runtime_date,
        "lakehouse/attempt": seal.attempt,
        "dagster/data_version": str(sealed.snapshot_id),
        "dagster/code_version": seal.code_version,
        **_writer_tag(declared.name, declarations),
    }
    for partition in _partitions(sealed):
        yield AssetMaterialization(
            asset_key=key,
            description="Found in the table's seal: the run published, and Dagster did not hear of it.",
            partition=partition,
            metadata={
                **table_metadata(declared),
                "snapshot id": str(sealed.snapshot_id),
                "attempt": seal.attempt,
                "runtime date": seal.runtime_date,
                "published by run": seal.run_id,
                "reconciled": True,
                **({"dagster/row_count": rows} if rows is not None else {}),
            },
            tags={tag: value for tag, value in tags.items() if value},
        )


def _partitions(sealed: Sealed) -> list[str | None]:
    """The partition keys that a step computed; of a range of them only the table is told."""
    keys = msgspec.json.decode(sealed.seal.statement.get(seal_keys.DERIVED_PARTITION, "[]"), type=list[str])
    return [None] if not keys or any(".." in key for key in keys) else list(keys)


def _writer_tag(name: str, declarations: Declarations) -> dict[str, str]:
    writer = declarations.writer(name)
    if isinstance(writer, Stream):
        return {STREAM_TAG: writer.name}
    return {MIRROR_TAG: writer.name} if isinstance(writer, Mirror) else {}


def _reported_snapshot(instance: DagsterInstance, key: AssetKey) -> int | None:
    latest = instance.get_latest_materialization_event(key)
    materialization = latest.asset_materialization if latest is not None else None
    snapshot = materialization.metadata.get("snapshot id") if materialization is not None else None
    return int(str(snapshot.value)) if snapshot is not None else None


def _is_new(table: IcebergTable, head: int, reported: int | None) -> bool:
    return reported is None or compare(table, reported, head) is not ContentChange.SAME
