"""What keeps every record: where an ingest goes on, what it refuses, and how it is proven."""

from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote_plus

from pyiceberg.table.snapshots import Snapshot

from lakehouse.steps.ingest.refusals import (
    ClusterChanged,
    LogTruncated,
    PositionBeyondEnd,
    PositionsDiffer,
    RowsWithoutSeal,
    TopicRecreated,
    UnsealedCommit,
)
from lakehouse_tests.mechanisms.mechanism import Function, Mechanism, gives, ignores


def _uncommitted(original: Function) -> Function:
    """The end of the log, records of open transactions included."""

    def passing(connection: Any, topic: str, partitions: Any, spec: Any) -> dict[int, Any]:
        from confluent_kafka import TopicPartition

        wanted = {TopicPartition(topic, number): spec for number in partitions}
        futures = connection.admin.list_offsets(wanted, request_timeout=connection.timeout)
        return {place.partition: connection.answer(future, topic=topic) for place, future in futures.items()}

    return passing


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


def _value_as_it_is(original: Function) -> Function:
    """A partition's value as every Iceberg writer shows it, however long."""
    return lambda field, kind, value: quote_plus(field.transform.to_human_string(kind, value), safe="")


def _all_in_force(original: Function) -> Function:
    """What was given up in a log is given up in whatever becomes of it."""
    return lambda ledger, topic_id: tuple(ledger)


def _as_before(original: Function) -> Function:
    """As many of the last records were refused as before some of them left the quarantine."""
    return lambda quarantine, previous, taken: previous.refused_last


def _all_read(original: Function) -> Function:
    return lambda quarantine, moment: original(quarantine, datetime.max.replace(tzinfo=UTC))


def _all_parts(original: Function) -> Function:
    """A table keeps what it could take of a record that another one refused."""
    return lambda parts, errors: list(parts)


def _unwatched(_: Function) -> Function:
    """A job that fails fails for what it says itself."""
    return lambda bases: nullcontext()


def _of_one_topic(original: Function) -> Function:
    """Every row is of the first topic."""
    return lambda numbers, rows: original(None, rows)


def _as_many(original: Function) -> Function:
    """A set of offsets is any other of as many."""
    return lambda tally, other: tally.count == other.count


_PLAN = "steps/ingest/test_plan.py::"
_POSITION = "steps/ingest/test_position.py::"
_GATE = "steps/ingest/test_gate.py::"
_HOLDINGS = "proofs/audit/test_stored_offsets.py::"
_CHAIN = "proofs/audit/test_chain_findings.py::"
_REFUSALS = _PLAN + "test_refusals_name_the_range_and_the_remedy"
INGEST = (
    Mechanism(
        name="full disk",
        promise="P1: Records are held to be unreadable, and their loss is offered, because the disk is full.",
        keeps="lakehouse.settings.storage_refusal:storage_refusal",
        lets_pass=gives(None),
        guard="steps/ingest/read/test_readable.py::test_no_record_is_suspected_while_the_disk_is_full",
    ),
    Mechanism(
        name="credentials that ended",
        promise="P1: Records are held to be unreadable, and their loss is offered, because credentials have ended.",
        keeps="lakehouse.steps.ingest.workers.lent_credentials:while_they_last",
        lets_pass=_unwatched,
        guard="steps/ingest/workers/test_lent_credentials.py::test_what_fails_after_they_have_ended_fails_for_that",
    ),
    Mechanism(
        name="topic identity",
        promise="P1: Another topic of the same name, or of another cluster, is read on from an old position.",
        keeps="lakehouse.steps.ingest.topic_identity:require_same_log",
        lets_pass=ignores(ClusterChanged, TopicRecreated),
        guard=_REFUSALS,
    ),
    Mechanism(
        name="identity of each topic",
        promise="P1: A topic of several that was made anew is read on from the position in the old one.",
        keeps="lakehouse.engines.kafka.several_topics.topic_numbers:TopicNumbers.renewed",
        lets_pass=gives({}),
        guard="steps/ingest/test_several_topics.py::test_a_topic_that_was_made_anew_stops_the_stream_and_is_named",
    ),
    Mechanism(
        name="all tables or none",
        promise="P1: A record is in one of its tables and in quarantine as well.",
        keeps="lakehouse.steps.ingest.workers.decoder_selection.record_router:whole_or_none",
        lets_pass=_all_parts,
        guard="steps/ingest/test_routes_in_process.py::test_the_second_table_may_refuse_a_record",
    ),
    Mechanism(
        name="table to blame",
        promise="P1: One table's broken records hold up the records of all other tables of the stream.",
        keeps="lakehouse.steps.ingest.routes.blame:_above",
        lets_pass=gives({}),
        guard="steps/ingest/routes/test_blame.py::"
        "test_the_table_to_blame_stops_and_goes_on_after_its_records_were_taken_up",
    ),
    Mechanism(
        name="emptied table left out",
        promise="P1: A table that was made anew gets a seal, as if the rows that it has lost had never been.",
        keeps="lakehouse.steps.ingest.routes.loadable:_emptied",
        lets_pass=gives({}),
        guard="steps/ingest/routes/test_loadable.py::"
        "test_a_table_made_anew_without_its_rows_stops_alone_and_gets_no_seal",
    ),
    Mechanism(
        name="what records may name",
        promise="P1: A record makes a table of any name, or takes over one that something else writes.",
        keeps="lakehouse.declarations.named_tables:ToNamed.refusal",
        lets_pass=gives(""),
        guard="steps/ingest/routes/test_made_tables.py::test_what_breaks_the_policy_goes_to_quarantine_with_its_reason",
    ),
    Mechanism(
        name="tables by their seals",
        promise="P1: A table that a stream has made is found by no proof, and by no run after the one that made it.",
        keeps="lakehouse.steps.ingest.routes.made_tables:made_tables",
        lets_pass=gives(()),
        guard="steps/ingest/routes/test_made_tables.py::test_whoever_has_the_catalog_knows_them",
    ),
    Mechanism(
        name="tables that follow",
        promise="P1: A new field of records is dropped, although the table's policy says that it becomes a column.",
        keeps="lakehouse.steps.ingest.evolve.changes:_follow_json",
        lets_pass=gives(None),
        guard="steps/ingest/test_evolution_in_process.py::test_records_change_in_the_middle_of_a_stream",
    ),
    Mechanism(
        name="stopped tables",
        promise="P1: A table that has stopped takes records again, although nobody has changed its declaration.",
        keeps="lakehouse.steps.ingest.routes.stopping:stopped_before",
        lets_pass=gives({}),
        guard="steps/ingest/test_evolution_in_process.py::"
        "test_one_whose_table_has_stopped_waits_and_the_other_tables_go_on",
    ),
    Mechanism(
        name="copies",
        promise="P1: The proof does not balance where a record goes to several tables.",
        keeps="lakehouse.steps.ingest.workers.decoder_selection.record_router:copied_rows",
        lets_pass=gives(()),
        guard="steps/ingest/test_routes_in_process.py::test_copies_are_sealed_and_the_counts_are_of_records",
    ),
    Mechanism(
        name="topic of a row",
        promise="P1: Records of two topics at the same partition and offset are taken for each other.",
        keeps="lakehouse.proofs.audit.coordinates:stream_partitions",
        lets_pass=_of_one_topic,
        guard="steps/ingest/test_several_topics.py::test_rows_of_the_same_offsets_are_told_apart_by_their_topic",
    ),
    Mechanism(
        name="truncated log",
        promise="P1: New records that took the offsets of read ones are never read.",
        keeps="lakehouse.steps.ingest.topic_identity:require_same_log",
        lets_pass=ignores(PositionBeyondEnd),
        guard=_REFUSALS,
    ),
    Mechanism(
        name="leader epoch",
        promise="P1: Another leader cut the log below the position, and what came since is missed in silence.",
        keeps="lakehouse.steps.ingest.topic_identity:require_same_log",
        lets_pass=ignores(LogTruncated),
        guard="steps/ingest/test_plan.py::test_a_log_that_was_cut_below_the_position_is_refused_and_a_person_can_go_on",
    ),
    Mechanism(
        name="retention check",
        promise="P1: Records that retention took before they were read are missed in silence.",
        keeps="lakehouse.steps.ingest.plan:lost_ranges",
        lets_pass=gives({}),
        guard=_PLAN + "test_what_retention_took_of_a_new_partition_before_anybody_looked_is_a_loss_like_any_other",
    ),
    Mechanism(
        name="identity after reading",
        promise="P1: Records of a topic that was made anew while it was read are published.",
        keeps="lakehouse.steps.ingest.topic_identity:require_unchanged",
        lets_pass=gives(None),
        guard="steps/ingest/test_topic_identity.py::test_a_topic_recreated_while_it_was_read_is_refused",
    ),
    Mechanism(
        name="retention while reading",
        promise="P1: What retention takes while it is read is an error of Spark, without range and remedy.",
        keeps="lakehouse.steps.ingest.plan:require_retained",
        lets_pass=gives(None),
        guard=_PLAN + "test_what_retention_took_while_it_was_read_is_named",
    ),
    Mechanism(
        name="accepted loss",
        promise="P1: A stream stands for ever before offsets that a person gave up because they cannot be read.",
        keeps="lakehouse.steps.ingest.plan:next_accepted",
        lets_pass=gives({}),
        guard=_PLAN + "test_a_run_reads_up_to_what_was_given_up_and_steps_over_it",
    ),
    Mechanism(
        name="losses of a log that was cut",
        promise="P1: New records are stepped over because old ones of the same offsets were given up.",
        keeps="lakehouse.engines.kafka.loss_ledger:past",
        lets_pass=_all_in_force,
        guard=_PLAN + "test_new_records_of_a_log_that_was_cut_are_read_where_old_ones_were_given_up",
    ),
    Mechanism(
        name="unread of another log",
        promise="P1: A topic that was made anew waits unread, and looks read, until it is as long as the one before.",
        keeps="lakehouse.steps.ingest.topic_identity:require_same_log",
        lets_pass=gives(None),
        guard="steps/ingest/test_standing.py::test_a_log_that_ends_before_the_position_is_not_read_to_its_end",
    ),
    Mechanism(
        name="loss of unread offsets",
        promise="P1: Offsets whose rows are in the tables are counted as lost.",
        keeps="lakehouse.steps.ingest.repair.accept_offsets:_require_unread",
        lets_pass=gives(None),
        guard="steps/ingest/repair/test_accept_offsets.py::test_what_was_read_or_is_not_in_the_log_cannot_be_given_up",
    ),
    Mechanism(
        name="adopting skips nothing",
        promise="P1: Adopting rows moves a stream past offsets that nobody has read, and no line of the loss ledger "
        "says so.",
        keeps="lakehouse.steps.ingest.repair.go_on:require_none_skipped",
        lets_pass=gives(None),
        guard="steps/ingest/repair/test_adoption_skips.py::test_another_topic_is_read_from_its_beginning",
    ),
    Mechanism(
        name="files that a sink has announced",
        promise="P1: A stream goes on from a sink's group, past records that are in no snapshot of its table.",
        keeps="lakehouse.steps.ingest.repair.connect_sink:_announces",
        lets_pass=gives(False),
        guard="steps/ingest/repair/test_connect_sink.py::test_files_that_no_snapshot_lists",
    ),
    Mechanism(
        name="rows of another writer",
        promise="P1: Rows without coordinates come or go, and the proof does not see it.",
        keeps="lakehouse.proofs.audit.exactly_once:_judge_without",
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
        name="files with duplicates",
        promise="P1: A record that is counted as a duplicate is in its table all the same.",
        keeps="lakehouse.steps.ingest.duplicates.drop:_may_hold",
        lets_pass=gives(False),
        guard="steps/ingest/duplicates/test_drop.py::test_files_that_may_hold_a_duplicate_are_written_anew",
    ),
    Mechanism(
        name="loss ledger",
        promise="P1: A step gives up offsets without a person, or forgets what was given up.",
        keeps="lakehouse.proofs.audit.chain_findings:_judge_ledger",
        lets_pass=gives(()),
        guard=_CHAIN + "test_a_loss_that_nobody_accepted_and_a_ledger_that_a_step_changes",
    ),
    Mechanism(
        name="blame of a record",
        promise="P1: Records are named for giving up where the broker, the disk or memory is what fails.",
        keeps="lakehouse.steps.ingest.read.narrowing:_any_readable",
        lets_pass=gives(True),
        guard="steps/ingest/read/test_narrowing.py::test_the_only_record_of_a_range_is_to_blame_if_one_before_it_can_be_read",
    ),
    Mechanism(
        name="last stable offset",
        promise="P1: A range ends in an open transaction, and fewer records are read than it says.",
        keeps="lakehouse.engines.kafka.topics:_offsets",
        lets_pass=_uncommitted,
        guard="engines/kafka/test_topics.py::test_the_end_is_the_last_stable_offset_while_a_transaction_is_open",
    ),
    Mechanism(
        name="sibling check",
        promise="P1: A stream goes on beside a table that was rolled back alone.",
        keeps="lakehouse.steps.ingest.position:agreed_position",
        lets_pass=ignores(PositionsDiffer),
        guard=_POSITION + "test_a_table_that_was_rolled_back_alone",
    ),
    Mechanism(
        name="return to a stream",
        promise="P1: A table that lost rows joins its stream as if it had only been out of it.",
        keeps="lakehouse.proofs.audit.absence:missed_ranges",
        lets_pass=gives({}),
        guard="proofs/audit/test_absence.py::test_a_table_that_was_rolled_back_while_it_was_out_does_not_join",
    ),
    Mechanism(
        name="rows without a seal",
        promise="P1: Rows of unknown origin are taken for none, and the topic is read from offset 0.",
        keeps="lakehouse.steps.ingest.position:stored_position",
        lets_pass=ignores(RowsWithoutSeal),
        guard=_POSITION + "test_rows_without_a_seal_are_never_taken_for_offset_0",
    ),
    Mechanism(
        name="commit without a seal",
        promise="P1: An ingest goes on after a commit that nobody accounts for.",
        keeps="lakehouse.steps.ingest.position:stored_position",
        lets_pass=ignores(UnsealedCommit),
        guard=_POSITION + "test_a_commit_after_the_last_seal",
    ),
    Mechanism(
        name="emptied table",
        promise="P1: A table that was made anew joins its siblings without the rows that it should hold.",
        keeps="lakehouse.steps.ingest.position:emptied_tables",
        lets_pass=gives({}),
        guard=_POSITION + "test_a_table_made_anew_beside_sealed_ones",
    ),
    Mechanism(
        name="read as planned",
        promise="P1: A record that is lost between Kafka and the workers is taken for one that never was.",
        keeps="lakehouse.steps.ingest.completeness:require_whole",
        lets_pass=gives(None),
        guard="steps/ingest/test_completeness.py::test_what_no_log_explains",
    ),
    Mechanism(
        name="second look at gaps",
        promise="P1: A record that Kafka has is not missed, as its topic may have gaps.",
        keeps="lakehouse.steps.ingest.completeness:readable",
        lets_pass=gives({}),
        guard="steps/ingest/test_completeness.py::test_a_record_that_got_lost_on_the_way_is_named_whatever_the_topic",
    ),
    Mechanism(
        name="gaps in a seal",
        promise="P1: A seal leaves out offsets without a word, and is believed.",
        keeps="lakehouse.proofs.audit.chain_findings:_judge_gaps",
        lets_pass=gives(()),
        guard=_CHAIN + "test_a_seal_that_says_how_many_offsets_had_no_record",
    ),
    Mechanism(
        name="quarantine gate",
        promise="P1: A producer's mistake puts most of a topic into quarantine, unseen.",
        keeps="lakehouse.steps.ingest.gate:require_acceptable",
        lets_pass=gives(None),
        guard=_GATE + "test_more_than_the_number_and_the_share_are_refused",
    ),
    Mechanism(
        name="last refused records",
        promise="P1: All of a quiet topic goes to quarantine, a record a run, and nothing stops it.",
        keeps="lakehouse.steps.ingest.gate:refused_ends",
        lets_pass=gives({}),
        guard=_GATE + "test_a_quiet_topic_whose_last_records_were_all_refused_stops_in_the_twentieth_run",
    ),
    Mechanism(
        name="newest refused batch",
        promise="P5: A stream that is stuck leaves a branch with its files at every try.",
        keeps="lakehouse.steps.ingest.refused_batch:_refused",
        lets_pass=gives(value=False),
        guard="steps/ingest/test_refused_batch.py::test_of_refused_batches_the_newest_stays_with_its_reason",
    ),
    Mechanism(
        name="back-off",
        promise="P5: What fails for want of a person is tried all day long.",
        keeps="lakehouse.orchestration.automation.backoff:Failures.reason_to_wait",
        lets_pass=gives(""),
        guard="orchestration/automation/test_stream_decision.py::test_after_a_failure_a_stream_waits_longer_each_time_whatever_arrives",
    ),
    Mechanism(
        name="short folders",
        promise="P1: A long text in a partition's column stops its stream for good.",
        keeps="lakehouse.steps.ingest.parquet_files.folders:_value",
        lets_pass=_value_as_it_is,
        guard="steps/ingest/parquet_files/test_writer.py::test_a_text_of_any_length_and_any_letters_is_a_partition",
    ),
    Mechanism(
        name="staged audit",
        promise="P1: Other rows are published than the workers have counted.",
        keeps="lakehouse.steps.ingest.sealing.staged_audit:require_staged",
        lets_pass=gives(None),
        guard="steps/ingest/sealing/test_staged_audit.py::test_fewer_rows_on_the_branch_than_were_counted",
    ),
    Mechanism(
        name="tally",
        promise="P1: A lost record and a doubled one make up for each other.",
        keeps="lakehouse.engines.kafka.tally:Tally.__eq__",
        lets_pass=_as_many,
        guard="engines/kafka/test_tally.py::test_a_lost_and_a_doubled_row_do_not_cancel",
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
        keeps="lakehouse.proofs.audit.exactly_once:_compare",
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
        name="bounds of an Avro record",
        promise="P1: A damaged record of Avro takes bytes of its neighbour, and lands as a row that nobody sent.",
        keeps="lakehouse.formats.avro.cursor:Cursor._within",
        lets_pass=gives(None),
        guard="formats/avro/test_cursor.py::test_a_number_that_does_not_end_is_marked",
    ),
    Mechanism(
        name="what leaves the quarantine",
        promise="P1: Reprocessing takes other records out of the quarantine than it lands.",
        keeps="lakehouse.steps.ingest.repair.reprocess:require_left",
        lets_pass=gives(None),
        guard="steps/ingest/repair/test_reprocess.py::test_nothing_else_leaves_the_quarantine",
    ),
    Mechanism(
        name="refused for a day",
        promise="P1: A refused record goes before anybody could see it, as a producer's clock says that it is old.",
        keeps="lakehouse.steps.ingest.repair.refused_retention:_read_until",
        lets_pass=_all_read,
        guard="steps/ingest/repair/test_refused_retention.py::"
        "test_what_was_refused_just_now_stays_whatever_its_timestamp",
    ),
    Mechanism(
        name="refused until reprocessed",
        promise="P1: A stream stops over a broken record because others, which are taken up by now, count as refused.",
        keeps="lakehouse.steps.ingest.repair.acceptable_records:_refused_last",
        lets_pass=_as_before,
        guard="steps/ingest/repair/test_reprocess.py::test_what_has_left_the_quarantine_is_none_of_the_last_refused_any_more",
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
