"""Whether every file that orphan removal has deleted was remembered first, and for long enough."""

from datetime import datetime, timedelta

import msgspec
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.expressions import EqualTo

from lakehouse.catalog import LakeCatalog
from lakehouse.commit.history import head_of
from lakehouse.maintenance.orphans import LEAST
from lakehouse.tables import ORPHANS


class _Row(msgspec.Struct, frozen=True):
    at: datetime
    path: str
    event: str
    longest_run_s: float


def deleted_too_early(catalog: LakeCatalog, uuid: str) -> list[str]:
    """What was deleted without a candidate's row that is older than a day and than any run had taken."""
    since: dict[str, datetime] = {}
    found: list[str] = []
    for row in _rows(catalog, uuid):
        if row.event == "candidate":
            since[row.path] = row.at
        elif row.event == "reprieved":
            since.pop(row.path, None)
        else:
            first, name = since.get(row.path), row.path.rpartition("/")[2]
            wait = max(LEAST, timedelta(seconds=row.longest_run_s))
            if first is None:
                found.append(f"{name} was deleted on {row.at:%Y-%m-%d}, and no look had found it before")
            elif row.at - first <= wait:
                found.append(f"{name} was deleted {row.at - first} after it was first found; {wait} is the least")
    return found


def _rows(catalog: LakeCatalog, uuid: str) -> list[_Row]:
    """Oldest first; of one look what was known before what was done about it."""
    try:
        table = catalog.load_table(ORPHANS.identifier)
    except NoSuchTableError:
        return []
    if (head := head_of(table)) is None:
        return []
    about = EqualTo("table_uuid", uuid)  # pyright: ignore[reportCallIssue] - its constructor is made by pydantic
    rows = table.scan(row_filter=about, selected_fields=_Row.__struct_fields__, snapshot_id=head).to_arrow().to_pylist()
    return sorted(msgspec.convert(rows, list[_Row]), key=lambda row: (row.at, row.event == "deleted"))
