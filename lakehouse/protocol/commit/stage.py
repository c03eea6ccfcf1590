"""Stage and seal: data goes to the attempt's own branch, then one commit without files says what it is.

Nothing here is visible to a reader of `main`. A failure leaves a branch for autopsy; housekeeping removes it.
"""

import time
from collections.abc import Callable, Sequence

from pyiceberg.exceptions import CommitFailedException, NoSuchTableError
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table, Transaction
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update import AssertTableUUID, TableRequirement
from pyiceberg.table.update.snapshot import ManageSnapshots
from tenacity import retry_if_exception_type, retry_if_result

from lakehouse.engines.spark.naming import quoted_name
from lakehouse.iceberg.format_version import require_writable
from lakehouse.iceberg.locations import require_whole
from lakehouse.iceberg.summary import AppendFiles
from lakehouse.protocol.catalog import LakeCatalog, TableChange, UnsafeCatalog, ref_is
from lakehouse.protocol.catalog.clock import require_clock
from lakehouse.protocol.commit.staged import Staged
from lakehouse.protocol.commit.transaction import StagingTransaction
from lakehouse.protocol.errors import UNKNOWN_OUTCOME, MainMoved, SchemaChanged, TableGone, TableReplaced
from lakehouse.protocol.failpoints import failpoint
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base
from lakehouse.protocol.seals.carried import carry_on
from lakehouse.protocol.seals.history import head_of, leads_to
from lakehouse.protocol.seals.seal import Seal
from lakehouse.retry import NO_ANSWER, OTHERS_FIRST, retrying

_TRIES = 10


def branch_table(base: Base, attempt: Attempt, *, catalog: str = "lake") -> str:
    """Name of the attempt's branch for Spark, quoted; a write to it fails loudly when the branch does not exist."""
    return quoted_name(catalog, *base.identifier, f"branch_{attempt.branch}")


def open_branch(catalog: LakeCatalog, base: Base, attempt: Attempt, *, by_spark_alone: bool = False) -> None:
    """Create the attempt's branch at the base, for a writer that needs it to exist (Spark).

    Args:
        catalog: where the table lives.
        base: where the branch begins.
        attempt: whose branch it is.
        by_spark_alone: the seal is Spark's as well, so the table may be of a version that PyIceberg cannot write.

    Raises:
        UnsafeCatalog: the catalog does not keep branches apart.
        UnwritableVersion: the table was upgraded to a format version that cannot be sealed.
    """
    commit_on_branch(
        catalog,
        base,
        attempt.branch,
        lambda transaction: _open(transaction, base, attempt),
        refs_alone=by_spark_alone,
    )


def stage_files(catalog: LakeCatalog, base: Base, attempt: Attempt, files: Sequence[DataFile]) -> None:
    """Append data files to the attempt's branch, opening it where it is not there yet.

    Raises:
        SchemaChanged: the table's partitioning is not the one that the files were written with.
        MainMoved: the base is no longer in the table's history.
        UnsafeCatalog: the catalog does not keep branches apart.
    """
    failpoint("stage.before")

    def build(transaction: Transaction) -> None:
        _open(transaction, base, attempt)
        append_to(transaction, base, attempt, attempt.branch, files)

    commit_on_branch(catalog, base, attempt.branch, build)
    failpoint("stage.between")


def seal_branch(catalog: LakeCatalog, base: Base, attempt: Attempt, seal: Seal) -> Staged:
    """Put the seal on the attempt's branch, opening it where the step wrote nothing.

    Raises:
        UnsafeCatalog: the catalog does not keep branches apart.
    """
    failpoint("seal.before")

    def build(transaction: Transaction) -> None:
        _open(transaction, base, attempt)
        seal_on(transaction, base, attempt.branch, seal)

    head = commit_on_branch(catalog, base, attempt.branch, build)
    failpoint("seal.after")
    return Staged(base, attempt, attempt.branch, head, seal)


def _open(transaction: Transaction, base: Base, attempt: Attempt) -> None:
    if attempt.branch in transaction.table_metadata.refs:
        return
    root = base.snapshot_id
    if root is None:  # a table without snapshots: the branch grows from an empty first one of its own
        with transaction.update_snapshot(snapshot_properties=attempt.marks, branch=None).fast_append() as first:
            pass
        root = first.snapshot_id
    if transaction.table_metadata.snapshot_by_id(root) is None:
        raise MainMoved(
            f"{base.name}: snapshot {root}, where this attempt began, is no longer in the table.",
            remedy="run the step again from the present state",
        )
    ManageSnapshots(transaction).create_branch(root, attempt.branch).commit()


def append_to(transaction: Transaction, base: Base, attempt: Attempt, branch: str, files: Sequence[DataFile]) -> None:
    """Add files, written for `base`, to a branch as one snapshot of the attempt, merging small manifests on the way.

    Raises:
        SchemaChanged: the files are laid out by another partition spec than the table has now; PyIceberg would enter
            them in a manifest of the new one, and readers would prune by partitions that they do not have.
    """
    if transaction.table_metadata.default_spec_id != base.table.metadata.default_spec_id:
        raise SchemaChanged(
            f"{base.name}: the partitioning changed after the files were written.",
            remedy="run the step again, it will write with the new partitioning",
        )
    io = base.table.io
    with AppendFiles(Operation.APPEND, transaction, io, branch, snapshot_properties=attempt.marks) as append:
        for file in files:
            append.append_data_file(file)


def seal_on(transaction: Transaction, base: Base, branch: str, seal: Seal) -> None:
    """Add the commit without files that carries the seal, and what is open in the history of its base."""
    keys = carry_on(seal, base).to_summary()
    with transaction.update_snapshot(snapshot_properties=keys, branch=branch).fast_append():
        pass


def commit_on_branch(
    catalog: LakeCatalog,
    base: Base,
    branch: str,
    build: Callable[[Transaction], None],
    *,
    require: Sequence[TableRequirement] = (),
    refs_alone: bool = False,
) -> int:
    """Commit what `build` adds to a transaction, to that branch alone; returns the branch's new head.

    PyIceberg's own retry is not used: it forgets a branch made in the same transaction, and then appends to nothing.

    Args:
        catalog: where the table lives.
        base: where the attempt began.
        branch: the one that may move.
        build: adds what is to be committed.
        require: of the table, besides that the branch is where it was.
        refs_alone: `build` writes no snapshot, so the format version does not matter.

    Raises:
        TableReplaced: the table is another one now.
        ClockSkew: this machine's clock is ahead of the storage's.
        TableGone: it was dropped or renamed.
        UnwritableVersion: the table was upgraded to a format version that PyIceberg cannot write.
        UnsafeCatalog: the commit moved `main`.
        AddressCut: its files would be written to one and the same address.
        CommitFailedException: other commits came first too often.
    """
    last_error: CommitFailedException | None = None

    def build_and_send() -> int | None:
        nonlocal last_error
        table = _load(catalog, base)
        require_whole(base.name, table.location(), table.properties)
        if not refs_alone:
            require_writable(table)
        transaction = StagingTransaction(slim(table, base.snapshot_id, head_of(table, branch)))
        began_ms = time.time_ns() // 1_000_000
        build(transaction)
        head = transaction.table_metadata.refs[branch].snapshot_id
        newest = transaction.table_metadata.snapshot_by_id(head)
        if newest is not None and table.metadata.snapshot_by_id(head) is None:
            # Here as well as in the embedded catalog: a catalog server takes our times as they are.
            require_clock(table.io, newest.manifest_list, began_ms, base.name)
        change = TableChange(
            base.identifier,
            (AssertTableUUID(uuid=table.metadata.table_uuid), ref_is(branch, head_of(table, branch)), *require),
            transaction._updates,  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - there is no public way to see them
        )
        last_error = _send(catalog, change, branch, head)
        return None if last_error else head

    others_first = retry_if_result(lambda head: head is None)
    head = retrying(_TRIES, others_first, longest=OTHERS_FIRST)(build_and_send)
    if head is None:
        message = f"{base.name}: branch {branch} could not be written in {_TRIES} tries (last: {last_error})"
        raise CommitFailedException(message) from last_error
    _require_apart(catalog.load_table(base.identifier), base, head)
    return head


def slim(table: Table, *snapshot_ids: int | None) -> Table:
    """The table with only these snapshots in its metadata, to prepare a commit with.

    PyIceberg copies all of the metadata whenever it applies an update; with a hundred snapshots that was most of a
    commit's time. What is sent in the end are the updates alone.
    """
    snapshots = [snapshot for snapshot in table.metadata.snapshots if snapshot.snapshot_id in snapshot_ids]
    refs = {name: ref for name, ref in table.metadata.refs.items() if ref.snapshot_id in snapshot_ids}
    update: dict[str, object] = {"snapshots": snapshots, "refs": refs, "snapshot_log": [], "metadata_log": []}
    metadata = table.metadata.model_copy(update=update)
    return Table(table.name(), metadata, table.metadata_location, table.io, table.catalog)


def _send(catalog: LakeCatalog, change: TableChange, branch: str, head: int) -> CommitFailedException | None:
    """Send one change until its outcome is known; returns why it did not land."""
    try:
        # The very same change again: if it had landed, its own requirement refuses the second.
        retrying(_TRIES, retry_if_exception_type(UNKNOWN_OUTCOME), longest=NO_ANSWER)(catalog.commit_tables, [change])
    except CommitFailedException as error:
        return None if head_of(catalog.load_table(change.identifier), branch) == head else error
    return None


def _load(catalog: LakeCatalog, base: Base) -> Table:
    """The table of an attempt as it is now."""
    try:
        table = catalog.load_table(base.identifier)
    except NoSuchTableError as error:
        raise TableGone(base.name) from error
    if str(table.metadata.table_uuid) != base.uuid:
        raise TableReplaced(
            f"{base.name} was dropped and created anew during this attempt.", remedy="run the step again"
        )
    return table


def _require_apart(table: Table, base: Base, head: int) -> None:
    if head != base.snapshot_id and leads_to(table, head_of(table), head, since=base.snapshot_id):
        raise UnsafeCatalog(
            f"{base.name}: a commit to a branch moved main.",
            remedy="use a catalog that keeps snapshot branches (Polaris, Iceberg's REST or JDBC catalog)",
        )
