"""What keeps maintenance from changing what tables say, and lets it say why it did what it did."""

from dataclasses import replace
from typing import Any

from pyiceberg.table import Table

from lakehouse.maintenance.approval import Approval
from lakehouse.maintenance.digest import Digest
from lakehouse_tests.mechanisms.mechanism import Function, Mechanism, answers, gives


def _said_nothing(original: Function) -> Function:
    """The seal of maintenance says nothing of what came before."""
    return lambda kind, previous, attempt: replace(original(kind, previous, attempt), statement={}, inputs={})


def _held_by_nobody(original: Function) -> Function:
    return lambda state, policy: original(replace(state, holders=()), policy)


def _no_rewrite(original: Function) -> Function:
    return lambda asked, *args: original(replace(asked, state=replace(asked.state, refs=())), *args)


def _nothing_left(original: Function) -> Function:
    """As if nobody read any more what the removed snapshots have reached."""

    def passing(gone: Any, before: Table, after: Table) -> Any:
        metadata = after.metadata.model_copy(update={"snapshots": []})
        return original(gone, before, Table(after.name(), metadata, after.metadata_location, after.io, after.catalog))

    return passing


def _first_look_decides(original: Function) -> Function:
    """What is an orphan at the first look goes."""

    def passing(*args: Any, **named: Any) -> Any:
        look = original(*args, **named)
        return replace(look, candidates=(), waiting=(), doomed=(*look.doomed, *look.waiting, *look.candidates))

    return passing


def _allowed(original: Function) -> Function:
    return lambda work, action: original(replace(work, allow=True), action)


def _approved(_: Function) -> Function:
    return lambda digests, memory, found, action: Approval(action)


_APPROVAL = "maintenance/test_approval.py::"
_REMOVAL = "maintenance/test_kept_from_removal.py::"
_ROWS = "maintenance/test_rows_kept.py::"
_DECIDE = "maintenance/test_decide.py::"
MAINTENANCE = (
    Mechanism(
        name="proof of a rewrite",
        promise="P5: A rewrite that loses or changes rows is published.",
        keeps="lakehouse.maintenance.proof:Prover._require_equal",
        lets_pass=gives(None),
        guard=_ROWS + "test_a_rewrite_that_loses_a_row",
    ),
    Mechanism(
        name="digest of rows",
        promise="P5: Rows that were changed, and not lost, have the same digest.",
        keeps="lakehouse.maintenance.digest:digest_of",
        lets_pass=answers(lambda digest: Digest(digest.rows)),
        guard="maintenance/test_digest.py::test_any_other_rows_show",
    ),
    Mechanism(
        name="needed deletes",
        promise="P5: Deleted rows come back, as the file goes that deletes them.",
        keeps="lakehouse.maintenance.proof:Prover._require_deletes",
        lets_pass=gives(None),
        guard=_ROWS + "test_deletes_that_a_file_which_stays_still_needs",
    ),
    Mechanism(
        name="repeated seal",
        promise="P5: After maintenance and expiry nobody knows a table's position.",
        keeps="lakehouse.commit.seal:Seal.repeated",
        lets_pass=_said_nothing,
        guard="commit/test_seal.py::test_maintenance_says_again_what_the_seal_before_it_said",
    ),
    Mechanism(
        name="newest seal",
        promise="P5: Expiry takes the seal from which a table's writer goes on.",
        keeps="lakehouse.maintenance.cut:_seals",
        lets_pass=gives([1]),
        guard=_REMOVAL + "test_the_newest_seal_stays_however_old_it_is",
    ),
    Mechanism(
        name="holders",
        promise="P5: Expiry takes snapshots that a mirror or an incremental table reads next.",
        keeps="lakehouse.maintenance.cut:cut",
        lets_pass=_held_by_nobody,
        guard=_DECIDE + "test_a_holder_blocks_expiry_by_name",
    ),
    Mechanism(
        name="references",
        promise="P5: Expiry takes what a tag or a branch names.",
        keeps="lakehouse.maintenance.cut:_held",
        lets_pass=gives(frozenset()),
        guard=_REMOVAL + "test_what_a_tag_names_stays",
    ),
    Mechanism(
        name="lease",
        promise="P5: Trimming takes the range that a slow reader has still to read.",
        keeps="lakehouse.commit.lease:held_leases",
        lets_pass=gives(()),
        guard="commit/test_lease.py::test_a_lagging_reader_finds_its_whole_range_after_many_publishes[sql_lake]",
    ),
    Mechanism(
        name="reachable files",
        promise="P5: Files go with an old snapshot that a newer one reads.",
        keeps="lakehouse.commit.reachable:reached_only_by",
        lets_pass=_nothing_left,
        guard="commit/test_reachable.py::test_files_that_a_newer_snapshot_reads_stay[sql_lake]",
    ),
    Mechanism(
        name="rewrite on its way",
        promise="P5: Expiry takes the snapshot that a rewrite stands on.",
        keeps="lakehouse.maintenance.due_table:_expiry",
        lets_pass=_no_rewrite,
        guard=_DECIDE + "test_a_rewrite_on_its_way_blocks_expiry",
    ),
    Mechanism(
        name="two looks",
        promise="P5: A file that a step is about to commit is removed as an orphan.",
        keeps="lakehouse.maintenance.orphans:look",
        lets_pass=_first_look_decides,
        guard=_REMOVAL + "test_a_stray_file_goes_in_a_second_look_that_is_late_enough",
    ),
    Mechanism(
        name="young files",
        promise="P5: A file of a minute ago is an orphan.",
        keeps="lakehouse.maintenance.orphans:_is_old",
        lets_pass=gives(True),
        guard=_REMOVAL + "test_a_young_file_is_no_orphan",
    ),
    Mechanism(
        name="known files",
        promise="P5: A file that a version of the metadata names is removed as an orphan.",
        keeps="lakehouse.maintenance.reachable:Known.knows",
        lets_pass=gives(False),
        guard=_REMOVAL + "test_a_file_that_any_metadata_names_is_no_orphan",
    ),
    Mechanism(
        name="other tables' places",
        promise="P5: Files of another table at the same location are removed as orphans.",
        keeps="lakehouse.maintenance.location:neighbours_below",
        lets_pass=gives([]),
        guard=_REMOVAL + "test_a_location_that_two_tables_share_is_not_cleaned",
    ),
    Mechanism(
        name="approval",
        promise="P5: What cannot be brought back is deleted though nobody has allowed it.",
        keeps="lakehouse.maintenance.expire:run",
        lets_pass=_allowed,
        guard=_REMOVAL + "test_nothing_is_deleted_that_nobody_has_allowed",
    ),
    Mechanism(
        name="approval of a shown plan",
        promise="P5: Whoever may start runs, and knows a word, deletes what cannot be brought back.",
        keeps="lakehouse.maintenance.approval:approval",
        lets_pass=_approved,
        guard=_APPROVAL + "test_nobody_guesses_a_digest",
    ),
    Mechanism(
        name="stale approvals",
        promise="P5: An approval deletes from a table that is no longer the one that was shown.",
        keeps="lakehouse.maintenance.approval:_stale",
        lets_pass=gives(""),
        guard=_APPROVAL + "test_a_table_that_was_set_back_since_was_not_shown",
    ),
    Mechanism(
        name="known traps",
        promise="P5: A table is rewritten while equality deletes are committed to it, and they are lost.",
        keeps="lakehouse.maintenance.traps:refused_partition",
        lets_pass=gives(None),
        guard="maintenance/test_traps.py::test_equality_deletes_are_refused_until_their_writer_is_declared_gone",
    ),
    Mechanism(
        name="decision rows",
        promise="P5: Nobody can say why a table was, or was not, maintained.",
        keeps="lakehouse.maintenance.record:decided_rows",
        lets_pass=gives([]),
        guard="maintenance/test_record.py::test_what_was_decided_is_one_word",
    ),
)
