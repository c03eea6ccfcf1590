"""Whether every file that orphan removal has deleted was remembered first, and for long enough."""

from datetime import datetime, timedelta

from pyiceberg.exceptions import NoSuchTableError

from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.steps.maintenance.orphans.orphan_log import looked
from lakehouse.steps.maintenance.orphans.removal import LEAST


def deleted_too_early(catalog: LakeCatalog, uuid: str) -> list[str]:
    """What was deleted without a candidate's row that is older than a day and than any run had taken."""
    try:
        rows = looked(catalog, uuid)
    except NoSuchTableError:  # nobody has ever looked
        return []
    since: dict[str, datetime] = {}
    messages: list[str] = []
    for row in rows:
        if row.event == "candidate":
            since[row.path] = row.timestamp
        elif row.event == "reprieved":
            since.pop(row.path, None)
        else:
            first, name = since.get(row.path), row.path.rpartition("/")[2]
            wait = max(LEAST, timedelta(seconds=row.longest_run_s))
            if first is None:
                messages.append(f"{name} was deleted on {row.timestamp:%Y-%m-%d}, and no look had found it before")
            elif row.timestamp - first <= wait:
                messages.append(
                    f"{name} was deleted {row.timestamp - first} after it was first found; {wait} is the least"
                )
    return messages
