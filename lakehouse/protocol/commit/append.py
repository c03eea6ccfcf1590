"""Appends what a table does not hold yet, whoever else does so at the same moment.

Some tables are written by many processes, outside the fence of any step: the audit log, the statistics of columns.
Each writer looks at what is there, and publishes what is missing on top of exactly that. If another was quicker, the
publish is superseded, and the whole question is asked again from where that one has come: nothing is written twice,
and nothing is lost.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.table import Transaction

from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.cleanup.vain_attempt import drop_branches_of
from lakehouse.protocol.commit.publish import publish
from lakehouse.protocol.commit.stage import commit_on_branch, open_branch, seal_on
from lakehouse.protocol.commit.staged import Staged
from lakehouse.protocol.errors import ClockSkew, CommitError, PublishUnresolved, TableBusy
from lakehouse.protocol.failpoints import failpoint
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base, read_bases
from lakehouse.protocol.seals.seal import Seal
from lakehouse.retry import OTHERS_FIRST, pause

_TRIES = 40


@dataclass(frozen=True)
class Missing:
    """What a table does not hold at a base.

    Attributes:
        rows: to append, by column; none if nothing is missing.
        statement: what the seal over them says.
    """

    rows: Sequence[Mapping[str, object]]
    statement: Mapping[str, str]


MissingT = TypeVar("MissingT", bound=Missing)


def append_absent(
    catalog: LakeCatalog, name: str, attempt: Attempt, kind: str, missing: Callable[[Base], MissingT]
) -> MissingT:
    """Append what is missing, through the protocol; returns what was appended in the end.

    Args:
        catalog: where the table lives; it must exist.
        name: `namespace.table`.
        attempt: who appends; every try has a branch of its own.
        kind: of the seal.
        missing: compares what there is to tell with what the table holds at a base. It is asked again, with a newer
            base, whenever another writer was quicker, so a row must have a name that is the same each time.

    Raises:
        NoSuchTableError: the table does not exist.
        TableBusy: others came first too often.
        ClockSkew: the table's history is ahead of our clock.
        PublishUnresolved: the catalog never gave a clear answer; what was appended is found at the next look.
    """
    last_error: Exception | None = None
    for _ in range(_TRIES):
        base = read_bases(catalog, [name])[name]
        absent = missing(base)
        if not absent.rows:
            return absent
        attempt = attempt.again()
        previous = base.sealed.seal if base.sealed else None
        seal = Seal.of(attempt, kind, statement=absent.statement, previous=previous)
        try:
            publish(catalog, [stage_rows(catalog, base, attempt, absent.rows, seal)])
        except (ClockSkew, PublishUnresolved):
            raise  # asking again would not help
        except (CommitError, CommitFailedException) as error:
            last_error = error
            drop_branches_of(catalog, base, attempt)
            pause(4 * OTHERS_FIRST)
        else:
            return absent
    raise TableBusy(
        f"{name}: others appended first {_TRIES} times in a row.",
        remedy="nothing is lost: what is missing is appended at the next look",
    ) from last_error


def stage_rows(
    catalog: LakeCatalog, base: Base, attempt: Attempt, rows: Sequence[Mapping[str, object]], seal: Seal
) -> Staged:
    """Put a few rows and the seal over them on the attempt's branch.

    Raises:
        MainMoved: the base is no longer in the table.
        UnsafeCatalog: the catalog does not keep branches apart.
    """
    schema = schema_to_pyarrow(base.table.schema(), include_field_ids=False)
    data = pa.Table.from_pylist([dict(row) for row in rows], schema=schema)

    def write(transaction: Transaction) -> None:
        transaction.append(data, snapshot_properties=attempt.marks, branch=attempt.branch)
        seal_on(transaction, base, attempt.branch, seal)

    open_branch(catalog, base, attempt)
    failpoint("seal.before")
    head = commit_on_branch(catalog, base, attempt.branch, write)
    failpoint("seal.after")
    return Staged(base, attempt, attempt.branch, head, seal)
