"""What a step has read of a table in ranges has to be in that table's `main` when what came of it becomes visible.

A rollback asks how far everybody has come, and a step that is under way has not said so yet. So each of the two sees
the other: the rollback requires that no reader has published since it asked, and a reader's publish that `main` of what
it read was not set back. Whichever comes second finds out.
"""

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table.update import AssertTableUUID
from pyiceberg.typedef import Identifier

from lakehouse.iceberg.names import name_of
from lakehouse.protocol.catalog import LakeCatalog, TableChange, ref_is
from lakehouse.protocol.errors import MainMoved
from lakehouse.protocol.seals.history import MAIN, ancestry, head_of


class SourceSetBack(MainMoved):
    """`main` of a table that was read has lost what was read of it."""


def still_in_main(catalog: LakeCatalog, identifier: Identifier, uuid: str, snapshot_id: int) -> TableChange | None:
    """What the catalog must require of a table for what was read of it; a condition of `publish`.

    None where the table is gone, is another one, or does not list the snapshot any more because it has expired: what
    was read is none the worse for that, and the reader's next run says so.

    Args:
        catalog: where the table lives.
        identifier: the table that was read.
        uuid: of that table.
        snapshot_id: up to which it was read.

    Raises:
        SourceSetBack: the snapshot is not in `main`.
    """
    try:
        table = catalog.load_table(identifier)
    except NoSuchTableError:
        return None
    if str(table.metadata.table_uuid) != uuid:
        return None
    head = head_of(table)
    line = list(ancestry(table, head))
    if all(snapshot.snapshot_id != snapshot_id for snapshot in line):
        whole = not line or line[-1].parent_snapshot_id is None
        if not whole and table.metadata.snapshot_by_id(snapshot_id) is None:
            return None
        raise SourceSetBack(
            f"{name_of(identifier)} was set back to before snapshot {snapshot_id} while that was read; nothing of it "
            "was published.",
            remedy="run the step again: it reads what is there now",
        )
    return TableChange(identifier, (AssertTableUUID(uuid=table.metadata.table_uuid), ref_is(MAIN, head)), ())
