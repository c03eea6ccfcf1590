"""The table before and after a rewrite, in the same words."""

import time
from collections.abc import Sequence

from pyiceberg.manifest import ManifestFile
from pyiceberg.table import Table

from lakehouse.declarations.own_tables.action_effect import TableMeasure
from lakehouse.iceberg.entries import live_entries
from lakehouse.protocol.seals.history import head_of


def of_files(table: Table, *, rewritten: int = 0, seconds: float = 0.0) -> TableMeasure:
    """Data and delete files of `main`, and how long it takes to list them: what a scan begins with."""
    began = time.perf_counter()
    files = sum(1 for manifest in _manifests(table) for _ in live_entries(table.io, manifest))
    return _measured(table, files, began, rewritten, seconds)


def of_manifests(table: Table, *, rewritten: int = 0, seconds: float = 0.0) -> TableMeasure:
    """Manifests of `main`, and how long it takes to read them."""
    began = time.perf_counter()
    manifests = _manifests(table)
    for manifest in manifests:
        for _ in live_entries(table.io, manifest):
            pass
    return _measured(table, len(manifests), began, rewritten, seconds)


def _measured(table: Table, files: int, began: float, rewritten: int, seconds: float) -> TableMeasure:
    return TableMeasure(
        files=files,
        bytes=rewritten,
        seconds=seconds,
        plan_ms=(time.perf_counter() - began) * 1000,
        snapshots=len(table.metadata.snapshots),
    )


def _manifests(table: Table) -> Sequence[ManifestFile]:
    snapshot = table.metadata.snapshot_by_id(head_of(table) or 0)
    return snapshot.manifests(table.io) if snapshot else ()
