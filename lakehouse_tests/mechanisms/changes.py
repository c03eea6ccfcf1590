"""What keeps a mirror the fold of its changelog."""

from dataclasses import replace
from typing import Any

from pyspark.sql import functions as sql

from lakehouse.protocol.catalog import TableChange
from lakehouse.protocol.seals.history import ancestry
from lakehouse.steps.cdc.fold.last_writer_wins import CONTRADICTION, COUNTS
from lakehouse.steps.cdc.verify.compare import RowDifference
from lakehouse_tests.mechanisms.mechanism import Function, Mechanism, answers, gives


def _unclamped(original: Function) -> Function:
    """No message is known to have arrived before the time that its source tells."""

    def passing(changes: Any, log: Any, arrival: Any = None) -> Any:
        arrived = sql.greatest("_kafka_timestamp", "source_time")
        return original(changes.withColumn("_kafka_timestamp", arrived), log, arrival)

    return passing


def _listed(original: Function) -> Function:
    """What is listed of a range, whether it is all of it or not."""

    def passing(mirror: str, changelog: Any, start: int, end: int, **named: Any) -> list[Any]:
        history = [snapshot.snapshot_id for snapshot in ancestry(changelog, end)]
        taken = list(ancestry(changelog, end))[: history.index(start) if start in history else None]
        return taken[::-1]

    return passing


def _first_statement(original: Function) -> Function:
    """What the first of the tables says."""

    def passing(mirror: str, bases: Any) -> Any:
        name = next(iter(bases))
        return original(mirror, {name: bases[name]})

    return passing


def _both_count(judged: Any) -> Any:
    verdict = sql.when(sql.col("_verdict") == CONTRADICTION, COUNTS).otherwise(sql.col("_verdict"))
    return judged.withColumn("_verdict", verdict)


def _within_the_range(original: Function) -> Function:
    """What a change of key left out is looked for in its own range alone."""
    return lambda changes, scope, past=None, mirror_rows=None, few=False: original(changes, scope, few=few)


_SEMANTICS = "steps/cdc/test_semantics.py::"
_REFUSED = "steps/cdc/test_refusals.py::"
_PROOFS = "steps/cdc/test_proofs.py::"
_DANGLING = "steps/cdc/fold/test_dangling_tombstones.py::"
CHANGES = (
    Mechanism(
        name="files of a mirror",
        promise="P2: A MERGE does not find rows that somebody hid by wrong bounds, and puts their keys in again.",
        keeps="lakehouse.steps.cdc.stored_statement:_require_listed_as_before",
        lets_pass=gives(None),
        guard="steps/cdc/test_stored_statement.py::test_a_mirror_whose_files_somebody_lists_otherwise",
    ),
    Mechanism(
        name="message schema",
        promise="P4: A decimal of another scale, or a time of another unit, is read as another value.",
        keeps="lakehouse.formats.changes.debezium.message_schemas:MessageSchemas.of",
        lets_pass=gives(()),
        guard="formats/changes/debezium/test_message_schemas.py::test_a_type_that_changes_between_messages_is_followed",
    ),
    Mechanism(
        name="clamp",
        promise="P4: A clock that is ahead moves the low watermark, and changes in time count as too late.",
        keeps="lakehouse.steps.cdc.fold.survey:survey",
        lets_pass=_unclamped,
        guard="steps/cdc/fold/test_clocks.py::test_no_source_time_is_later_than_the_arrival",
    ),
    Mechanism(
        name="clock of arrival",
        promise="P4: One change from a clock that is ahead makes all others too late, and no new rows come.",
        keeps="lakehouse.steps.cdc.fold.clocks:Arrival.believed",
        lets_pass=lambda original: lambda self, time: time,
        guard="steps/cdc/fold/test_clocks.py::test_a_clock_far_ahead_says_nothing",
    ),
    Mechanism(
        name="share of late changes",
        promise="P4: A mirror that refuses every new row passes its checks.",
        keeps="lakehouse.steps.cdc.verify.late_share:late_share",
        lets_pass=answers(lambda share: replace(share, allowed=1.0)),
        guard="steps/cdc/verify/test_late_share.py::test_many_changes_that_came_too_late_fail_the_check",
    ),
    Mechanism(
        name="inserts of live keys",
        promise="P4: Rows of a table without that key become one, and then none, with every check green.",
        keeps="lakehouse.steps.cdc.verify.live_keys:inserts_onto_live_keys",
        lets_pass=answers(lambda inserts: inserts.clear()),
        guard="steps/cdc/verify/test_live_keys.py::test_two_equal_rows_are_reported",
    ),
    Mechanism(
        name="mirror without a key",
        promise="P4: A mirror is kept of a table whose changes do not say which row they are of.",
        keeps="lakehouse.declarations.registry.joining:_require_key",
        lets_pass=gives(None),
        guard="declarations/registry/test_declarations.py::test_a_source_table_without_a_key_has_a_changelog_and_no_mirror",
    ),
    Mechanism(
        name="low watermark",
        promise="P4: Deletes are remembered for ever, or what was too late becomes early again.",
        keeps="lakehouse.steps.cdc.range_statement:statement_after",
        lets_pass=answers(lambda statement: replace(statement, low_watermark_us=0)),
        guard="steps/cdc/test_range_statement.py::"
        "test_the_low_watermark_is_that_of_the_slowest_partition_and_never_goes_back",
    ),
    Mechanism(
        name="late events",
        promise="P4: A change from before a forgotten delete brings its row back.",
        keeps="lakehouse.steps.cdc.fold.last_writer_wins:_too_late",
        lets_pass=lambda original: lambda scope: sql.lit(False),
        guard=_SEMANTICS + "test_a_forgotten_key_does_not_come_back_either",
    ),
    Mechanism(
        name="contradictions",
        promise="P4: Of two things said at one position either may win.",
        keeps="lakehouse.steps.cdc.fold.last_writer_wins:classify_events",
        lets_pass=answers(_both_count),
        guard=_SEMANTICS + "test_of_equal_positions_the_first_to_arrive_stays",
    ),
    Mechanism(
        name="tombstone placement",
        promise="P4: A tombstone without position deletes nothing.",
        keeps="lakehouse.steps.cdc.fold.last_writer_wins:_placed",
        lets_pass=lambda original: lambda events, scope: events,
        guard=_SEMANTICS + "test_a_tombstone_deletes_what_its_partition_said_last",
    ),
    Mechanism(
        name="tombstone of an earlier change",
        promise="P4: A tombstone that is sent again deletes the row that was made since.",
        keeps="lakehouse.steps.cdc.fold.dangling_tombstones:placed",
        lets_pass=lambda original: lambda changes, past, rows: changes,
        guard=_DANGLING + "test_an_older_change_that_was_sent_again_is_what_its_tombstone_deletes",
    ),
    Mechanism(
        name="rows that outlive their changes",
        promise="P4: A delete that comes as a tombstone alone is lost, where its row's changes were retired or copied.",
        keeps="lakehouse.steps.cdc.fold.dangling_tombstones:_by_rows",
        lets_pass=lambda original: lambda unknown, rows, of_keys: original(unknown, rows.limit(0), of_keys),
        guard=_DANGLING + "test_a_retired_row_is_deleted[hard]",
    ),
    Mechanism(
        name="tombstone of a refused delete",
        promise="P4: A delete is lost, whose record was refused and whose tombstone comes in a run of its own.",
        keeps="lakehouse.steps.cdc.fold.dangling_tombstones:_refused",
        lets_pass=lambda original: lambda last, of_keys: original(last, of_keys).limit(0),
        guard=_DANGLING + "test_the_tombstone_of_a_refused_delete_counts_wherever_a_run_is_cut[2]",
    ),
    Mechanism(
        name="special values of a key",
        promise="P4: Two rows become one, whose keys have no room in their column and were clamped.",
        keeps="lakehouse.formats.changes.special_values.encoding:SpecialValuesEncoding._policy",
        lets_pass=lambda original: lambda self, declared, path: original(self, declared, ""),
        guard="formats/changes/special_values/test_encoding.py::test_a_key_has_no_policy",
    ),
    Mechanism(
        name="kept changes",
        promise="P4: Retirement removes the only change that tells what a tombstone follows.",
        keeps="lakehouse.steps.cdc.changelog_cleanup.kept_changes:kept_changes",
        lets_pass=gives({}),
        guard=_DANGLING + "test_what_followed_a_delete_that_was_sent_again_spares_the_row_made_since",
    ),
    Mechanism(
        name="checkpoint at the retirement",
        promise="P4: Changes go that a rebuilt mirror needs for its proof.",
        keeps="lakehouse.steps.cdc.changelog_cleanup.proven_mirrors:ProvenMirror.still_stands",
        lets_pass=lambda original: lambda self, catalog: TableChange(self.table.name(), (), ()),
        guard="steps/cdc/changelog_cleanup/test_proven_mirrors.py::"
        "test_changes_stay_where_a_rebuild_came_between_look_and_removal",
    ),
    Mechanism(
        name="whole changelog at the publish",
        promise="P4: A rebuild takes the place of the checkpoint that stood for changes which went meanwhile.",
        keeps="lakehouse.steps.cdc.plan.reread_range:still_unretired",
        lets_pass=lambda original: lambda catalog, mirror, whole: TableChange(whole.table.name(), (), ()),
        guard="steps/cdc/plan/test_reread_range.py::test_a_rebuild_is_refused_where_a_retirement_came_first",
    ),
    Mechanism(
        name="truncate barrier",
        promise="P4: Rows from before a truncate stay, or come back with a late change.",
        keeps="lakehouse.steps.cdc.fold.scope:FoldScope.of",
        lets_pass=answers(lambda scope: replace(scope, barrier=None, truncating=False)),
        guard=_SEMANTICS + "test_a_truncate_is_a_barrier_between_positions",
    ),
    Mechanism(
        name="change of key",
        promise="P4: Values that a change of key does not send are lost.",
        keeps="lakehouse.steps.cdc.fold.key_changes:complete",
        lets_pass=_within_the_range,
        guard=_SEMANTICS + "test_a_change_of_key_takes_along_what_it_does_not_send",
    ),
    Mechanism(
        name="append-only changelog",
        promise="P4: A mirror goes on after changes that it may not have read were removed.",
        keeps="lakehouse.steps.cdc.plan.range:keeps_rows",
        lets_pass=gives(True),
        guard=_REFUSED + "test_a_commit_that_removed_rows",
    ),
    Mechanism(
        name="whole range",
        promise="P4: Snapshots that expired or were rolled back leave a hole in what is applied.",
        keeps="lakehouse.steps.cdc.plan.range:chain",
        lets_pass=_listed,
        guard=_REFUSED + "test_a_changelog_that_was_rolled_back",
    ),
    Mechanism(
        name="agreement of a mirror",
        promise="P4: A mirror goes on beside tombstones of another run.",
        keeps="lakehouse.steps.cdc.stored_statement:stored_statement",
        lets_pass=_first_statement,
        guard="steps/cdc/test_stored_statement.py::test_a_table_of_the_mirror_that_was_set_back_alone",
    ),
    Mechanism(
        name="lease in the publish",
        promise="P4: Snapshots that a mirror reads next expire between its publish and its lease.",
        keeps="lakehouse.protocol.leases.lease:lease_change",
        lets_pass=gives(None),
        guard="protocol/leases/test_lease.py::test_a_lease_moves_with_the_publish_of_its_owner[sql_lake]",
    ),
    Mechanism(
        name="fold check",
        promise="P4: A row that is not what its changes make is not found.",
        keeps="lakehouse.steps.cdc.verify.compare:RowComparison.compare",
        lets_pass=lambda original: lambda *args: RowDifference(),
        guard=_PROOFS + "test_a_row_that_was_changed_behind_the_mirrors_back",
    ),
    Mechanism(
        name="doubt",
        promise="P4: A row whose newest change the stream refused is stale, and nothing says so.",
        keeps="lakehouse.formats.changes.routing:Router.may_be",
        lets_pass=gives(False),
        guard="steps/cdc/verify/test_doubt.py::test_a_refused_change_of_a_stale_row_is_named_by_the_audit",
    ),
    Mechanism(
        name="healing",
        promise="P4: Any change heals a key in doubt, also one that came before or does not say all of a row.",
        keeps="lakehouse.steps.cdc.verify.doubt_healing:later",
        lets_pass=lambda original: lambda pairs: pairs,
        guard="steps/cdc/verify/test_doubt.py::test_what_heals_a_key[not later]",
    ),
    Mechanism(
        name="doubt along a change of key",
        promise="P4: A row that is stale becomes another key's, with the stale values, and nothing says so.",
        keeps="lakehouse.steps.cdc.verify.doubt_healing:KeysInDoubt.along",
        lets_pass=lambda original: lambda keys, refused, changes: refused,
        guard="steps/cdc/verify/test_doubt.py::test_doubt_goes_along_with_a_row_whose_key_changes[moved]",
    ),
    Mechanism(
        name="range of reprocessed changes",
        promise="P4: Changes that come late from quarantine are folded without others of their keys.",
        keeps="lakehouse.steps.cdc.plan.range:_apart",
        lets_pass=lambda original: lambda value: (value, False),
        guard="steps/cdc/test_reprocessed.py::test_reprocessed_changes_are_a_range_of_their_own",
    ),
    Mechanism(
        name="recall",
        promise="P4: A reprocessed change brings a deleted row back, or is too late for ever.",
        keeps="lakehouse.steps.cdc.fold.reprocessed_changes:recalled",
        lets_pass=lambda original: lambda changes, past, refused, log: changes,
        guard="steps/cdc/fold/test_reprocessed_changes.py::test_a_late_change_takes_its_place_among_all_of_its_key[hard]",
    ),
    Mechanism(
        name="balance",
        promise="P4: A range that a mirror left out is not found.",
        keeps="lakehouse.steps.cdc.verify.counters:_judge_step",
        lets_pass=gives(()),
        guard=_PROOFS + "test_a_range_that_was_left_out",
    ),
    Mechanism(
        name="counters",
        promise="P4: A MERGE that did something else than was sealed is not found.",
        keeps="lakehouse.steps.cdc.verify.cross_checks:judge_counters",
        lets_pass=gives(()),
        guard=_PROOFS + "test_rows_that_iceberg_has_not_counted",
    ),
)
