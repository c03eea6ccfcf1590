"""What finds afterwards that a record is missing, or there twice: the proofs from outside."""

from typing import Any

from pyiceberg.table.snapshots import Snapshot

from lakehouse_tests.mechanisms.mechanism import Function, Mechanism, gives


def _all_trusted(original: Function) -> Function:
    """Every file counts as written by a sealed attempt."""

    def passing(table: Any, snapshot_id: int) -> set[str]:
        snapshot: Snapshot = table.metadata.snapshot_by_id(snapshot_id)
        manifests = snapshot.manifests(table.io)
        return {e.data_file.file_path for m in manifests for e in m.fetch_manifest_entry(table.io)}

    return passing


def _agreeing(original: Function) -> Function:
    """Whatever a table holds is what was sealed."""
    return lambda *args: ((proof, True) for proof, _ in original(*args))


def _of_one_topic(original: Function) -> Function:
    """Every row is of the first topic."""
    return lambda numbers, rows: original(None, rows)


_HOLDINGS = "proofs/audit/test_stored_offsets.py::"
_CHAIN = "proofs/audit/test_chain_findings.py::"

PROOFS = (
    Mechanism(
        name="topic of a row",
        promise="P1: Records of two topics at the same partition and offset are taken for each other.",
        keeps="lakehouse.proofs.audit.coordinates:stream_partitions",
        lets_pass=_of_one_topic,
        guard="steps/ingest/test_several_topics.py::test_rows_of_the_same_offsets_are_told_apart_by_their_topic",
    ),
    Mechanism(
        name="rows of another writer",
        promise="P1: Rows without coordinates come or go, and the proof does not see it.",
        keeps="lakehouse.proofs.audit.stream:_judge_without",
        lets_pass=gives(()),
        guard="steps/ingest/repair/test_adopted_writer.py::test_rows_that_name_no_record_are_counted_and_stay",
    ),
    Mechanism(
        name="records dropped by rule",
        promise="P1: A declared rule drops records, and the seal does not count them by partition.",
        keeps="lakehouse.proofs.audit.chain_findings:_judge_dropped",
        lets_pass=gives(()),
        guard=_CHAIN + "test_what_a_declared_rule_drops_is_tallied",
    ),
    Mechanism(
        name="loss ledger",
        promise="P1: A step gives up offsets without a person, or forgets what was given up.",
        keeps="lakehouse.proofs.audit.chain_findings:_judge_ledger",
        lets_pass=gives(()),
        guard=_CHAIN + "test_a_loss_that_nobody_accepted_and_a_ledger_that_a_step_changes",
    ),
    Mechanism(
        name="return to a stream",
        promise="P1: A table that lost rows joins its stream as if it had only been out of it.",
        keeps="lakehouse.proofs.audit.absence:missed_ranges",
        lets_pass=gives({}),
        guard="proofs/audit/test_absence.py::test_a_table_that_was_rolled_back_while_it_was_out_does_not_join",
    ),
    Mechanism(
        name="gaps in a seal",
        promise="P1: A seal leaves out offsets without a word, and is believed.",
        keeps="lakehouse.proofs.audit.chain_findings:_judge_gaps",
        lets_pass=gives(()),
        guard=_CHAIN + "test_a_seal_that_says_how_many_offsets_had_no_record",
    ),
    Mechanism(
        name="seal chain",
        promise="P1: A range that no run has read, or that two have read, is not found.",
        keeps="lakehouse.proofs.audit.chain_findings:_judge_step",
        lets_pass=gives(()),
        guard=_CHAIN + "test_a_range_that_does_not_go_on",
    ),
    Mechanism(
        name="balance of a seal",
        promise="P1: A seal that counts other records than it has read is believed.",
        keeps="lakehouse.proofs.audit.chain_findings:_judge_balance",
        lets_pass=gives(()),
        guard=_CHAIN + "test_a_seal_that_counts_others_than_it_has_read",
    ),
    Mechanism(
        name="siblings in the audit",
        promise="P1: A table that was rolled back alone is not found.",
        keeps="lakehouse.proofs.audit.siblings:judge_siblings",
        lets_pass=gives(()),
        guard="proofs/audit/test_siblings.py::test_a_table_that_was_rolled_back_alone",
    ),
    Mechanism(
        name="holdings",
        promise="P1: A row that has gone since it was sealed is not missed.",
        keeps="lakehouse.proofs.audit.stream:_compare",
        lets_pass=_agreeing,
        guard=_HOLDINGS + "test_a_row_that_is_gone",
    ),
    Mechanism(
        name="trusted files",
        promise="P1: Bounds prove a file that somebody else has written.",
        keeps="lakehouse.proofs.audit.stored_offsets:_sealed_files",
        lets_pass=_all_trusted,
        guard=_HOLDINGS + "test_bounds_of_a_file_that_no_attempt_has_written_prove_nothing",
    ),
    Mechanism(
        name="rows that move",
        promise="P1: Rows leave a table by a step that may not take any, and the seals say so in silence.",
        keeps="lakehouse.proofs.audit.chain_findings:_judge_moved",
        lets_pass=gives(()),
        guard="steps/ingest/repair/test_reprocess.py::test_rows_leave_by_no_other_step[loss]",
    ),
    Mechanism(
        name="offsets of other writers",
        promise="P1: A table of another writer is called proven that has two rows of one record.",
        keeps="lakehouse.proofs.foreign.offset_runs:Runs.repeated",
        lets_pass=gives([]),
        guard="proofs/foreign/test_audit.py::test_a_record_in_two_commits_names_both",
    ),
    Mechanism(
        name="files of other writers",
        promise="P1: A file that another writer lists twice is read twice, and nobody is told.",
        keeps="lakehouse.proofs.foreign.audit:_listed_twice",
        lets_pass=gives(()),
        guard="proofs/foreign/test_audit.py::test_a_file_that_is_listed_twice_disproves_without_any_coordinates",
    ),
    Mechanism(
        name="records without a row",
        promise="P1: A table of another writer is called proven that lacks a record.",
        keeps="lakehouse.proofs.foreign.offset_runs:Runs.missing",
        lets_pass=gives([]),
        guard="proofs/foreign/test_by_coordinates.py::test_a_record_without_a_row_is_named_unless_the_writer_filters",
    ),
)
