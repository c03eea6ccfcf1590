"""What keeps maintenance from changing what tables say, and lets it say why it did what it did."""

from dataclasses import replace
from typing import Any

from pyiceberg.table import Table

from lakehouse.cli.declared import declarations_of
from lakehouse.iceberg.content_hash.row_hash import Digest
from lakehouse.protocol.catalog import TableChange
from lakehouse.steps.maintenance.approval import Approval
from lakehouse_tests.mechanisms.mechanism import Function, Mechanism, answers, gives


def _without_notes(original: Function) -> Function:
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


def _any_file(_: Function) -> Function:
    return lambda table, paths, others: list(paths)


def _first_look_decides(original: Function) -> Function:
    """What is an orphan at the first look goes."""

    def passing(*args: Any, **named: Any) -> Any:
        look = original(*args, **named)
        return replace(look, candidates=(), waiting=(), doomed=(*look.doomed, *look.waiting, *look.candidates))

    return passing


def _allowed(original: Function) -> Function:
    return lambda work, action: original(replace(work, allow=True), action)


def _approved(_: Function) -> Function:
    return lambda digests, memory, surveyed, action: Approval(action)


_APPROVAL = "steps/maintenance/test_approval.py::"
_OWN = "iceberg/test_own_files.py::"
_REMOVAL = "steps/maintenance/test_kept_from_removal.py::"
_ROWS = "steps/maintenance/test_rows_kept.py::"
_DECIDE = "steps/maintenance/plan/test_decide.py::"


def _whatever_they_read(original: Function) -> Function:
    """Nothing is required of readers' tables."""
    return lambda catalog, names: [TableChange(change.identifier, (), ()) for change in original(catalog, names)]


MAINTENANCE = (
    Mechanism(
        name="the store's clock",
        promise="P5: A machine whose clock is ahead deletes what is young, or still at work.",
        keeps="lakehouse.protocol.cleanup.store_clock:require_age_clock",
        lets_pass=gives(None),
        guard="protocol/cleanup/test_store_clock.py::test_a_clock_beside_the_stores[90-True]",
    ),
    Mechanism(
        name="age before count",
        promise="P5: A count that nobody asked for ends time travel long before the age that readers are told.",
        keeps="lakehouse.steps.maintenance.expire.snapshot_selection:_by_policy",
        lets_pass=lambda original: lambda main, now, policy: original(main, now, replace(policy, max_snapshots=50)),
        guard=_DECIDE + "test_a_count_that_nobody_asked_for_never_cuts_below_the_age",
    ),
    Mechanism(
        name="age in a publish",
        promise="P5: A publish forgets snapshots that are younger than the age that readers are told.",
        keeps="lakehouse.protocol.commit.trim:_younger",
        lets_pass=lambda original: lambda newest_first, least, since_ms: original(newest_first, least, None),
        guard="protocol/commit/test_trimmed_by_age.py::test_without_a_count_nothing_goes_that_is_younger_than_the_age",
    ),
    Mechanism(
        name="tag of a beginning",
        promise="P5: A publish trims the snapshot with which a mirror began.",
        keeps="lakehouse.steps.cdc.plan.initial_tag:hold_initial",
        lets_pass=gives(None),
        guard="steps/cdc/plan/test_initial_tag.py::test_a_publish_does_not_trim_what_a_mirror_began_with",
    ),
    Mechanism(
        name="proof of a rewrite",
        promise="P5: A rewrite that loses or changes rows is published.",
        keeps="lakehouse.steps.maintenance.verify.proof:Prover._require_equal",
        lets_pass=gives(None),
        guard=_ROWS + "test_a_rewrite_that_loses_a_row",
    ),
    Mechanism(
        name="files listed as before",
        promise="P5: A rewrite of somebody else doubles, hides or brings back rows, with the same files.",
        keeps="lakehouse.protocol.commit.relisting:Relisting.difference",
        lets_pass=gives(""),
        guard="steps/maintenance/verify/test_foreign_rewrites.py::test_a_file_that_is_listed_twice_is_named",
    ),
    Mechanism(
        name="claims about a file",
        promise="P5: A manifest claims other values than a file has, so that readers leave out its rows.",
        keeps="lakehouse.iceberg.claims.footer:contradiction",
        lets_pass=gives(""),
        guard="steps/maintenance/verify/test_foreign_rewrites.py::test_a_file_that_was_written_anew_is_as_it_is_listed",
    ),
    Mechanism(
        name="claims about a manifest",
        promise="P5: A list claims other partitions than a manifest has, so that readers leave out all of its files.",
        keeps="lakehouse.iceberg.claims.listed:false_line",
        lets_pass=gives(""),
        guard="iceberg/claims/test_listed.py::test_a_rewrite_that_lists_a_manifest_otherwise",
    ),
    Mechanism(
        name="digest of rows",
        promise="P5: Rows that were changed, and not lost, have the same digest.",
        keeps="lakehouse.iceberg.content_hash.row_hash:digest_of",
        lets_pass=answers(lambda digest: Digest(digest.rows)),
        guard="iceberg/content_hash/test_row_hash.py::test_any_other_rows_show",
    ),
    Mechanism(
        name="needed deletes",
        promise="P5: Deleted rows come back, as the file goes that deletes them.",
        keeps="lakehouse.steps.maintenance.verify.proof:Prover._require_deletes",
        lets_pass=gives(None),
        guard=_ROWS + "test_deletes_that_a_file_which_stays_still_needs",
    ),
    Mechanism(
        name="repeated seal",
        promise="P5: After maintenance and expiry nobody knows a table's position.",
        keeps="lakehouse.protocol.seals.seal:Seal.repeated",
        lets_pass=_without_notes,
        guard="protocol/seals/test_seal.py::test_maintenance_says_again_what_the_seal_before_it_said",
    ),
    Mechanism(
        name="newest seal",
        promise="P5: Expiry takes the seal from which a table's writer goes on.",
        keeps="lakehouse.steps.maintenance.expire.snapshot_selection:_seals",
        lets_pass=gives([1]),
        guard=_REMOVAL + "test_the_newest_seal_stays_however_old_it_is",
    ),
    Mechanism(
        name="holders",
        promise="P5: Expiry takes snapshots that a mirror or an incremental table reads next.",
        keeps="lakehouse.steps.maintenance.expire.snapshot_selection:select_snapshots",
        lets_pass=_held_by_nobody,
        guard=_DECIDE + "test_a_holder_blocks_expiry_by_name",
    ),
    Mechanism(
        name="references",
        promise="P5: Expiry takes what a tag or a branch names.",
        keeps="lakehouse.steps.maintenance.expire.snapshot_selection:_referenced",
        lets_pass=gives(frozenset()),
        guard=_REMOVAL + "test_what_a_tag_names_stays",
    ),
    Mechanism(
        name="lease",
        promise="P5: Trimming takes the range that a slow reader has still to read.",
        keeps="lakehouse.protocol.leases.lease:held_leases",
        lets_pass=gives(()),
        guard="protocol/leases/test_lease.py::test_a_lagging_reader_finds_its_whole_range_after_many_publishes[sql_lake]",
    ),
    Mechanism(
        name="reachable files",
        promise="P5: Files go with an old snapshot that a newer one reads.",
        keeps="lakehouse.iceberg.reachable_files:reached_only_by",
        lets_pass=_nothing_left,
        guard="iceberg/test_reachable_files.py::test_files_that_a_newer_snapshot_reads_stay[sql_lake]",
    ),
    Mechanism(
        name="files of its own",
        promise="P5: Whoever may write a table lets its maintenance delete any file, by naming it.",
        keeps="lakehouse.iceberg.own_files:own_files",
        lets_pass=_any_file,
        guard=_OWN + "test_expiry_leaves_a_file_that_is_another_tables",
    ),
    Mechanism(
        name="tables below",
        promise="P5: Expiry or a dropped branch take a file of a table that lies below, as it was named in both.",
        keeps="lakehouse.protocol.cleanup.other_locations:places_of_others",
        lets_pass=gives(frozenset()),
        guard="protocol/cleanup/test_other_locations.py::test_a_dropped_branch_leaves_a_file_of_a_table_below[sql_lake]",
    ),
    Mechanism(
        name="files of its own warehouse",
        promise="P5: A lakehouse that was copied deletes the files of the original, which its catalog names.",
        keeps="lakehouse.iceberg.own_files:lies_outside",
        lets_pass=gives(False),
        guard=_OWN + "test_a_commit_to_a_copied_lakehouse_leaves_the_documents_of_the_original",
    ),
    Mechanism(
        name="location without metadata",
        promise="P5: A table that says it lies at the root of everything has everything removed as its orphans.",
        keeps="lakehouse.iceberg.own_files:lies_at_location",
        lets_pass=gives(True),
        guard=_OWN + "test_a_location_is_not_believed_without_the_tables_metadata",
    ),
    Mechanism(
        name="rewrite on its way",
        promise="P5: Expiry takes the snapshot that a rewrite stands on.",
        keeps="lakehouse.steps.maintenance.plan.due_table:_expiry",
        lets_pass=_no_rewrite,
        guard=_DECIDE + "test_a_rewrite_on_its_way_blocks_expiry",
    ),
    Mechanism(
        name="every file looked at",
        promise="P1: A file that was removed, emptied or cut is listed in a table, and passes a scan of everything.",
        keeps="lakehouse.protocol.damage.inspection:damages",
        lets_pass=gives([]),
        guard="cli/commands/prove/kinds/test_files.py::test_a_file_that_is_not_as_it_was_is_named[removed-derived.b]",
    ),
    Mechanism(
        name="storage asked for every file",
        promise="P1: A file that was removed, or written anew with another size, is in manifests as before: all holds.",
        keeps="lakehouse.proofs.audit.stored_files:stored_otherwise",
        lets_pass=gives([]),
        guard="cli/commands/prove/kinds/test_files.py::"
        "test_a_file_that_is_gone_or_of_another_size_is_named_without_reading_any[removed-derived.b]",
    ),
    Mechanism(
        name="rollback loses nothing",
        promise="P1: Tables go back to where Kafka no longer has what they would have to read again.",
        keeps="lakehouse.steps.maintenance.rollback.promises:require_promises",
        lets_pass=gives(None),
        guard="steps/maintenance/rollback/test_promises.py::test_what_kafka_no_longer_has_is_not_taken_back",
    ),
    Mechanism(
        name="readers stand where they were asked",
        promise="P4: A rollback takes back what a mirror has read since it was asked how far it had come.",
        keeps="lakehouse.steps.maintenance.rollback.promises:_as_now",
        lets_pass=_whatever_they_read,
        guard="steps/maintenance/rollback/test_readers.py::test_who_reads_on_at_the_last_moment_is_not_cut_off[mirror]",
    ),
    Mechanism(
        name="a damaged metadata file is a finding",
        promise="P1: A table whose metadata file is cut or gone has lost its rows, and the audit knows of no promise "
        "that is broken.",
        keeps="lakehouse.cli.commands.prove.audit_proofs:_note_unreadable",
        lets_pass=gives(None),
        guard="cli/commands/prove/kinds/test_files.py::test_a_damaged_metadata_file_is_a_finding[cut]",
    ),
    Mechanism(
        name="a pointer that cannot be believed",
        promise="P5: One edited pointer, and nothing is let go any more of tables that no release is about.",
        keeps="lakehouse.steps.maintenance.expire.consumers:_is_concerned",
        lets_pass=gives(True),
        guard="steps/release/test_damaged_pointer.py::test_expiry_of_other_tables_goes_on",
    ),
    Mechanism(
        name="two looks",
        promise="P5: A file that a step is about to commit is removed as an orphan.",
        keeps="lakehouse.steps.maintenance.orphans.removal:look",
        lets_pass=_first_look_decides,
        guard=_REMOVAL + "test_a_stray_file_goes_in_a_second_look_that_is_late_enough",
    ),
    Mechanism(
        name="young files",
        promise="P5: A file of a minute ago is an orphan.",
        keeps="lakehouse.steps.maintenance.orphans.removal:_is_old",
        lets_pass=gives(True),
        guard=_REMOVAL + "test_a_young_file_is_no_orphan",
    ),
    Mechanism(
        name="known files",
        promise="P5: A file that a version of the metadata names is removed as an orphan.",
        keeps="lakehouse.steps.maintenance.orphans.known_files:Known.knows",
        lets_pass=gives(False),
        guard=_REMOVAL + "test_a_file_that_any_metadata_names_is_no_orphan",
    ),
    Mechanism(
        name="other tables' places",
        promise="P5: Files of another table at the same location are removed as orphans.",
        keeps="lakehouse.steps.maintenance.orphans.location:neighbours_below",
        lets_pass=gives([]),
        guard=_REMOVAL + "test_a_location_that_two_tables_share_is_not_cleaned",
    ),
    Mechanism(
        name="approval",
        promise="P5: What cannot be brought back is deleted though nobody has allowed it.",
        keeps="lakehouse.steps.maintenance.expire.expire:run",
        lets_pass=_allowed,
        guard=_REMOVAL + "test_nothing_is_deleted_that_nobody_has_allowed",
    ),
    Mechanism(
        name="approval of a shown plan",
        promise="P5: Whoever may start runs, and knows a word, deletes what cannot be brought back.",
        keeps="lakehouse.steps.maintenance.approval:approval",
        lets_pass=_approved,
        guard=_APPROVAL + "test_nobody_guesses_a_digest",
    ),
    Mechanism(
        name="stale approvals",
        promise="P5: An approval deletes from a table that is no longer the one that was shown.",
        keeps="lakehouse.steps.maintenance.approval:_stale",
        lets_pass=gives(""),
        guard=_APPROVAL + "test_a_table_that_was_set_back_since_was_not_shown",
    ),
    Mechanism(
        name="known traps",
        promise="P5: A table is rewritten while equality deletes are committed to it, and they are lost.",
        keeps="lakehouse.steps.maintenance.model.preconditions:refused_partition",
        lets_pass=gives(None),
        guard="steps/maintenance/model/test_preconditions.py::test_equality_deletes_are_refused_until_their_writer_is_declared_gone",
    ),
    Mechanism(
        name="decision rows",
        promise="P5: Nobody can say why a table was, or was not, maintained.",
        keeps="lakehouse.steps.maintenance.log.record:decided_rows",
        lets_pass=gives([]),
        guard="steps/maintenance/log/test_record.py::test_what_was_decided_is_one_word",
    ),
    Mechanism(
        name="delete guard while a file is broken",
        promise="P5: Maintenance deletes what a table needs whose declaration does not load for a moment.",
        keeps="lakehouse.steps.maintenance.measure.traits:traits_of",
        lets_pass=answers(lambda traits: replace(traits, not_loaded=())),
        guard="steps/maintenance/measure/test_traits.py::test_nothing_is_deleted_while_a_declaration_does_not_load",
    ),
    Mechanism(
        name="removal by hand while a file is broken",
        promise="P5: A person removes what a table needs whose declaration does not load for a moment.",
        keeps="lakehouse.cli.declared:whole_declarations",
        lets_pass=lambda original: declarations_of,
        guard="orchestration/checks/test_stopped.py::test_what_deletes_waits",
    ),
)
