"""Changes that were applied before, read again: all of them for a rebuild, or one range to check its digest."""

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table
from pyiceberg.table.update import AssertTableUUID

from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.iceberg.names import table_name
from lakehouse.proofs.audit.retirement import retired_of
from lakehouse.protocol.catalog import LakeCatalog, TableChange, ref_is
from lakehouse.protocol.seals.history import MAIN, ancestry, head_of, summary_of
from lakehouse.steps.cdc.plan.range import Range, appended, chain, keeps_rows, total
from lakehouse.steps.cdc.refusals import HistoryIncomplete, NoChangelog, RangeExpired
from lakehouse.steps.cdc.statement import MirrorStatement


def applied_range(mirror: str, changelog: Table, statement: MirrorStatement) -> Range:
    """The range that a seal speaks of, again.

    Raises:
        RangeExpired: its end is no longer listed.
        MirrorRefused: as for a new range.
    """
    end = changelog.metadata.snapshot_by_id(statement.end)
    if end is None:
        raise RangeExpired(mirror, statement.changelog, statement.end, head_of(changelog))
    arrived = KafkaStatement("", "", "", {}, dict(statement.kafka_end))
    if statement.start is None:
        return Range(changelog, None, statement.end, total(end), 0, (), arrived)
    snapshots = tuple(chain(mirror, changelog, statement.start, statement.end, consumed=statement.kafka_end))
    return Range(changelog, statement.start, statement.end, sum(map(appended, snapshots)), 0, snapshots, arrived)


def require_complete(mirror: str, whole: Range) -> None:
    """Refuse to begin or rebuild with a changelog that does not hold every change since its beginning.

    Raises:
        HistoryIncomplete: says why.
    """
    name = table_name(whole.table)
    if not whole.arrived.is_from_beginning:
        raise HistoryIncomplete(mirror, name, "its seals do not say where it begins")
    require_unretired(mirror, whole)
    for snapshot in ancestry(whole.table, whole.end):
        if not keeps_rows(snapshot):
            raise HistoryIncomplete(mirror, name, f"snapshot {snapshot.snapshot_id} removed rows")
    sealed = sum(tally.count for tally in whole.arrived.totals.get(name, {}).values())
    end = whole.table.metadata.snapshot_by_id(whole.end)
    if end is not None and (deletes := int(summary_of(end).get("total-delete-files", "0"))):
        raise HistoryIncomplete(mirror, name, f"{deletes} files hide some of its rows")
    if sealed != whole.changes:
        raise HistoryIncomplete(mirror, name, f"it holds {whole.changes} rows, and its seals account for {sealed}")


def require_unretired(mirror: str, whole: Range) -> None:
    """Refuse to begin with a changelog from which retention has removed changes.

    Raises:
        HistoryIncomplete: it has.
    """
    retired = sum(tally.count for tally in retired_of(whole.table, whole.end).values())
    if retired:
        raise HistoryIncomplete(mirror, whole.name, f"its retention removed {retired} changes")


def still_unretired(catalog: LakeCatalog, mirror: str, whole: Range) -> TableChange:
    """What the catalog must require of a changelog when the mirror that was made of all of it becomes visible.

    Or the changes would be gone, and with the build before also the checkpoint that stood for them.

    Raises:
        HistoryIncomplete: retention has removed changes since the range was planned.
        NoChangelog: it was dropped.
    """
    try:
        changelog = catalog.load_table(whole.table.name())
    except NoSuchTableError as error:
        raise NoChangelog(mirror, whole.name) from error
    head = head_of(changelog)
    if retired_of(changelog, head):
        raise HistoryIncomplete(mirror, whole.name, "its retention removed changes while they were folded")
    return TableChange(
        whole.table.name(), (AssertTableUUID(uuid=changelog.metadata.table_uuid), ref_is(MAIN, head)), ()
    )
