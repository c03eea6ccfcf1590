"""Inputs of other catalogs: read as they were when the run began, by the history that each table has of itself.

Nothing of ours may be written there, so no tag holds them. Every step, retry and re-execution of a run finds the same
snapshot by the moment alone, for as long as the table keeps it. A commit that was under way at that moment may still
come before it by its own clock; what has read two versions is then refused, as their seals name both.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table

from lakehouse.iceberg.names import identifier_of
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.seals.read_group import Pinned, read_group
from lakehouse.steps.derived.refusals import InputGone


def read_as_of(catalog: LakeCatalog, names: Sequence[str], moment_ms: int) -> dict[str, Pinned]:
    """Tables at the snapshot that was `main` at a moment; those that do not exist, or hold nothing, are left out.

    Args:
        catalog: the own one, which knows the others.
        names: `catalog:namespace.table` each.
        moment_ms: when the run began, in milliseconds since the epoch.

    Raises:
        InputGone: a table has no snapshot of that moment any more, or had none yet.
    """
    try:
        group = read_group(catalog, names)
    except NoSuchTableError:
        group = read_group(catalog, [name for name in names if catalog.table_exists(identifier_of(name))])
    return {
        name: Pinned(pinned.table, _main_at(name, pinned.table, moment_ms))
        for name, pinned in group.items()
        if pinned.snapshot_id is not None
    }


def _main_at(name: str, table: Table, moment_ms: int) -> int:
    entries = [entry for entry in table.metadata.snapshot_log if entry.timestamp_ms <= moment_ms]
    if not entries or table.metadata.snapshot_by_id(entries[-1].snapshot_id) is None:
        raise InputGone(name, datetime.fromtimestamp(moment_ms / 1000, UTC))
    return entries[-1].snapshot_id
