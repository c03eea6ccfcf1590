"""Loads the tables of a group, also from a catalog that shows a transaction table by table while it is applied."""

from collections.abc import Sequence

from pyiceberg.table import Table
from pyiceberg.typedef import Identifier
from tenacity import retry_if_result

from lakehouse import seal_keys
from lakehouse.iceberg.names import identifier_of, name_of, split_catalog
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.seals.history import ancestry, head_of, summary_of
from lakehouse.protocol.seals.seal import MAINTENANCE
from lakehouse.retry import OTHERS_FIRST, retrying

_SETTLE_TRIES = 13


def load_together(catalog: LakeCatalog, names: Sequence[str]) -> dict[str, Table]:
    """Load tables as they were at one moment, between two publishes and not within one.

    The embedded catalog answers from one SELECT. A REST catalog's specification does not say what a reader sees while
    it applies a transaction: if the seals disagree, it is asked again. Tables that go on disagreeing are returned as
    they are (an operator rolled one back, and the audit says so). Each catalog's are of a moment of their own.

    Raises:
        NoSuchTableError: a table does not exist.
        ReadsNeverSettled: on a REST catalog, the tables changed during every attempt.
    """
    loaded: dict[str, Table] = {}
    for other in dict.fromkeys(split_catalog(name)[0] for name in names):
        group: list[Identifier] = [identifier_of(name) for name in names if split_catalog(name)[0] == other]
        whole = catalog.reads_whole_commits and not other
        disagree = retry_if_result(lambda tables, whole=whole: not whole and not _agree(list(tables.values())))
        tables = retrying(_SETTLE_TRIES, disagree, longest=OTHERS_FIRST)(catalog.load_tables, group)
        loaded |= {name_of(identifier): table for identifier, table in tables.items()}
    return {name: loaded[name] for name in names}


def _agree(tables: Sequence[Table]) -> bool:
    """Whether the newest seals of one step come from one attempt; a publish seals all tables of its step.

    One of maintenance is looked behind: it is of one table alone, and says nothing of the step that wrote the rows.
    """
    attempts: dict[str, str] = {}
    for table in tables:
        for snapshot in ancestry(table, head_of(table)):
            summary = summary_of(snapshot)
            if seal_keys.VERSION in summary and summary.get(seal_keys.KIND) != MAINTENANCE:
                attempt = summary[seal_keys.ATTEMPT]
                if attempts.setdefault(summary[seal_keys.PREFIX + "step"], attempt) != attempt:
                    return False
                break
    return True
