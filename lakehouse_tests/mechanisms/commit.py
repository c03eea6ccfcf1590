"""What keeps a publish: nothing of others is overwritten, and nothing that was taken back returns."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pyiceberg.catalog.sql import IcebergTables
from pyiceberg.table.update import AssertRefSnapshotId
from sqlalchemy import select

from lakehouse import seal_keys
from lakehouse.protocol.commit.conflict_check import ConflictVerdict
from lakehouse.protocol.errors import ClockSkew, SchemaChanged, TableReplaced
from lakehouse.protocol.seals.history import attempt_of
from lakehouse.protocol.seals.seal import _digest
from lakehouse_tests.mechanisms.mechanism import Breaking, Function, Mechanism, answers, gives, ignores


def _not_required(matches: Callable[[Any, Any], bool]) -> Breaking:
    """The transaction without its requirement of a reference."""

    def breaking(original: Function) -> Function:
        def passing(item: Any, table: Any) -> Any:
            change = original(item, table)
            kept = (r for r in change.requirements if not (isinstance(r, AssertRefSnapshotId) and matches(r, item)))
            return replace(change, requirements=tuple(kept))

        return passing

    return breaking


def _harmless(matches: Callable[[Any], bool]) -> Breaking:
    """Some commits that settle the matter do not settle it any more."""

    def breaking(original: Function) -> Function:
        return lambda staged, snapshot: None if matches(snapshot) else original(staged, snapshot)

    return breaking


def _table_by_table(original: Function) -> Function:
    """Each table in a transaction of its own."""
    return lambda commits, prepared: all(original(commits, [table]) for table in prepared)


def _uncompared(original: Function) -> Function:
    """The row is swapped whatever it names by now."""

    def passing(database: Any, connection: Any, row: Any) -> bool:
        now = select(IcebergTables.metadata_location).where(
            IcebergTables.table_namespace == ".".join(row.identifier[:-1]),
            IcebergTables.table_name == row.identifier[-1],
        )
        return original(database, connection, row._replace(previous=connection.execute(now).scalar_one()))

    return passing


def _undigested(original: Function) -> Function:
    """A seal that was edited has the digest that it should have."""

    def passing(kind: Any, summary: Any, **named: Any) -> Any:
        body = {
            key: value for key, value in summary.items() if key.startswith(seal_keys.PREFIX) and key != seal_keys.DIGEST
        }
        return original(kind, {**summary, seal_keys.DIGEST: _digest(body)}, **named)

    return passing


def _of_now(original: Function) -> Function:
    """Files count as written for the partitioning that the table has now."""

    def passing(transaction: Any, base: Any, *args: Any) -> None:
        original(transaction, replace(base, table=transaction._table), *args)

    return passing


_FENCE = "protocol/commit/test_fence.py::"
_SQL_COMMITS = "protocol/catalog/sql_catalog/test_sql_commits.py::"
_POWER = "protocol/commit/test_power_cut.py::"
_PUBLISH = "protocol/commit/test_publish.py::"
COMMIT = (
    Mechanism(
        name="fence",
        promise="P1: A publish takes away what a twin has published since the look at the table.",
        keeps="lakehouse.protocol.commit.publish:_change",
        lets_pass=_not_required(lambda requirement, item: requirement.ref == "main"),
        guard=_FENCE + "test_rows_of_a_twin_that_was_quicker_stay",
    ),
    Mechanism(
        name="fence of the branch",
        promise="P1: What somebody puts on an attempt's branch at the last moment is published.",
        keeps="lakehouse.protocol.commit.publish:_change",
        lets_pass=_not_required(lambda requirement, item: requirement.ref == item.branch),
        guard=_FENCE + "test_what_was_put_on_the_branch_last_is_not_published",
    ),
    Mechanism(
        name="descent check",
        promise="P1: A branch is published with commits of others among its own.",
        keeps="lakehouse.protocol.commit.staged:require_descent",
        lets_pass=gives(None),
        guard=_PUBLISH + "test_a_head_on_top_of_foreign_rows_is_refused[sql_lake]",
    ),
    Mechanism(
        name="twin check",
        promise="P1: Two attempts at one step both land.",
        keeps="lakehouse.protocol.commit.conflict_check:_require_harmless",
        lets_pass=_harmless(lambda snapshot: attempt_of(snapshot) is not None),
        guard=_PUBLISH + "test_the_loser_of_a_race_is_superseded_and_changes_nothing[sql_lake]",
    ),
    Mechanism(
        name="foreign commit",
        promise="P1: Rows from outside the protocol go unnoticed under those of a step.",
        keeps="lakehouse.protocol.commit.conflict_check:_require_harmless",
        lets_pass=_harmless(lambda snapshot: attempt_of(snapshot) is None),
        guard=_PUBLISH + "test_an_unsealed_append_in_between_is_refused[sql_lake]",
    ),
    Mechanism(
        name="rollback check",
        promise="P1: What an operator took back is tried on and on, and nobody is told why.",
        keeps="lakehouse.protocol.commit.conflict_check:_require_branch",
        lets_pass=gives(None),
        guard=_PUBLISH + "test_publishing_again_after_an_operators_rollback_stops[sql_lake]",
    ),
    Mechanism(
        name="history check",
        promise="P1: A step on a rolled back base tries on and on, and nobody is told why.",
        keeps="lakehouse.protocol.commit.conflict_check:_since_base",
        lets_pass=gives([]),
        guard=_PUBLISH + "test_rolled_back_rows_do_not_come_back_to_life[sql_lake]",
    ),
    Mechanism(
        name="landed head",
        promise="P1: A publish whose answer was lost, and that has landed, ends as a failure.",
        keeps="lakehouse.protocol.commit.conflict_check:check_conflict",
        lets_pass=answers(lambda verdict: ConflictVerdict.PUBLISH if verdict is ConflictVerdict.LANDED else verdict),
        guard=_PUBLISH + "test_publishing_again_recognises_its_own_commit[sql_lake]",
    ),
    Mechanism(
        name="table identity",
        promise="P1: A step for a table that was dropped and made anew tries on and on, unnamed.",
        keeps="lakehouse.protocol.commit.conflict_check:check_conflict",
        lets_pass=ignores(TableReplaced, gives=ConflictVerdict.PUBLISH),
        guard=_PUBLISH + "test_a_table_dropped_and_made_anew_is_refused[sql_lake]",
    ),
    Mechanism(
        name="schema check",
        promise="P1: A step of an old schema tries on and on, and nobody is told why.",
        keeps="lakehouse.protocol.commit.conflict_check:check_conflict",
        lets_pass=ignores(SchemaChanged, gives=ConflictVerdict.PUBLISH),
        guard=_PUBLISH + "test_a_changed_schema_is_refused[sql_lake]",
    ),
    Mechanism(
        name="layout check",
        promise="P1: Files of an old partitioning are staged in a table that has a new one.",
        keeps="lakehouse.protocol.commit.stage:append_to",
        lets_pass=_of_now,
        guard="protocol/commit/test_unusual_tables.py::test_partitioning_changed_before_the_files_were_staged[sql_lake]",
    ),
    Mechanism(
        name="time written",
        promise="P1: A slow clock writes a history that runs backwards, which Java does not read.",
        keeps="lakehouse.protocol.catalog.document:_monotonic",
        lets_pass=lambda original: lambda document, now_ms: now_ms,
        guard=_PUBLISH + "test_a_slow_clock_does_not_write_history_backwards[sql_lake]",
    ),
    Mechanism(
        name="clock refusal",
        promise="P1: A step publishes to a table that is ahead of its clock.",
        keeps="lakehouse.protocol.commit.conflict_check:check_conflict",
        lets_pass=ignores(ClockSkew, gives=ConflictVerdict.PUBLISH),
        guard="protocol/catalog/test_document.py::test_a_table_ahead_of_our_clock",
    ),
    Mechanism(
        name="compare and swap",
        promise="P1: A commit takes away that of another program which came between.",
        keeps="lakehouse.protocol.catalog.sql_catalog.sql_database:CatalogDatabase._swap_row",
        lets_pass=_uncompared,
        guard=_SQL_COMMITS + "test_a_document_that_another_program_has_written_meanwhile_is_not_lost",
    ),
    Mechanism(
        name="credentials that end",
        promise="P1: A token that ends within a step fails it, after all of its work.",
        keeps="lakehouse.protocol.catalog.rest_catalog.rest:RestLakeCatalog._post_renewed",
        lets_pass=lambda _: lambda catalog, request: catalog._post_commit(request),
        guard="faults/test_credentials.py::test_a_token_that_ends_before_the_commit_is_renewed",
    ),
    Mechanism(
        name="branch probe",
        promise="P1: On a catalog that ignores branches a staged row is a published row.",
        keeps="lakehouse.protocol.catalog.probe:_require_apart",
        lets_pass=gives(None),
        guard="protocol/catalog/test_branchless.py::test_the_probe_refuses_it",
    ),
    Mechanism(
        name="look at main",
        promise="P1: A step goes on although its commit to a branch has moved main.",
        keeps="lakehouse.protocol.commit.stage:_require_apart",
        lets_pass=gives(None),
        guard="protocol/catalog/test_branchless.py::test_a_step_stops_before_it_is_published",
    ),
    Mechanism(
        name="clock of the storage",
        promise="P1: A machine whose clock is ahead commits, and every true clock is refused for as long.",
        keeps="lakehouse.protocol.catalog.clock:require_clock",
        lets_pass=gives(None),
        guard="protocol/catalog/test_clock.py::test_a_clock_that_is_ahead_is_refused_and_a_true_one_goes_on[tag]",
    ),
    Mechanism(
        name="cut address",
        promise="P1: All files of a table get one address, and overwrite each other.",
        keeps="lakehouse.iceberg.locations:is_cut",
        lets_pass=gives(False),
        guard="iceberg/test_locations.py::test_nothing_is_written_where_every_file_would_be_one",
    ),
    Mechanism(
        name="look at staged files",
        promise="P1: Main points at nothing where something took a file between stage and publish.",
        keeps="lakehouse.protocol.commit.durability:secure_staged_files",
        lets_pass=gives(None),
        guard="protocol/commit/test_durability.py::test_a_manifest_that_is_gone_is_not_published",
    ),
    Mechanism(
        name="synced files",
        promise="P1: A power cut takes the rows of a publish and leaves its position.",
        keeps="lakehouse.iceberg.durable_files:sync_files",
        lets_pass=gives(None),
        guard=_POWER + "test_a_publish_is_there_whole_or_not_at_all",
    ),
    Mechanism(
        name="synced folders",
        promise="P1: A power cut takes the names of files, and of the document that the catalog names.",
        keeps="lakehouse.iceberg.durable_files:_upwards",
        lets_pass=gives(()),
        guard=_POWER + "test_a_publish_is_there_whole_or_not_at_all",
    ),
    Mechanism(
        name="synced documents of Spark",
        promise="P1: A power cut takes a document that Spark wrote, and leaves the row that names it.",
        keeps="lakehouse.protocol.catalog.sql_catalog.sql_database:CatalogDatabase._sync_documents",
        lets_pass=gives(None),
        guard="protocol/catalog/sql_catalog/test_sql_database.py::test_a_document_that_spark_named_is_synced_with_the_next_commit",
    ),
    Mechanism(
        name="synced commits",
        promise="P1: A power cut takes commits of the catalog that a later step has read.",
        keeps="lakehouse.protocol.catalog.sql_catalog.sql_database:_sync_commits",
        lets_pass=gives(None),
        guard="protocol/catalog/sql_catalog/test_sql_database.py::test_a_commit_is_on_the_disk_when_it_returns",
    ),
    Mechanism(
        name="seal digest",
        promise="P1: A seal that was edited is believed.",
        keeps="lakehouse.protocol.seals.seal:Seal.from_summary",
        lets_pass=_undigested,
        guard="proofs/lineage/test_dates.py::test_an_edited_seal_fails",
    ),
    Mechanism(
        name="atomic swap",
        promise="P2: One table of a step shows its rows, and another does not.",
        keeps="lakehouse.protocol.catalog.sql_catalog.sql_commits:SqlCommits._swap",
        lets_pass=_table_by_table,
        guard=_SQL_COMMITS + "test_of_two_tables_both_rows_are_swapped_or_none",
    ),
    Mechanism(
        name="completion",
        promise="P2: The rest of a transaction that a catalog has applied in part fails for ever.",
        keeps="lakehouse.protocol.commit.conflict_check:check_conflict",
        lets_pass=answers(lambda verdict: ConflictVerdict.PUBLISH if verdict is ConflictVerdict.LANDED else verdict),
        guard="protocol/commit/test_unusual_tables.py::test_a_transaction_that_the_catalog_applied_in_part_is_completed[sql_lake]",
    ),
    Mechanism(
        name="conditions of a publish",
        promise="P2: A table that a step has judged changes before what follows from it is published.",
        keeps="lakehouse.protocol.commit.publish:_together",
        lets_pass=lambda original: lambda moved, required: original(moved, ()),
        guard=_PUBLISH + "test_what_a_condition_requires_is_part_of_the_transaction[sql_lake]",
    ),
    Mechanism(
        name="what was read is still there",
        promise="P4: A mirror publishes changes that a rollback of its changelog took back while they were read.",
        keeps="lakehouse.protocol.leases.source:still_in_main",
        lets_pass=gives(None),
        guard="protocol/leases/test_source.py::test_what_was_taken_back_meanwhile_is_not_published[sql_lake]",
    ),
    Mechanism(
        name="reading a group",
        promise="P2: A reader sees half a step on a catalog that applies it table by table.",
        keeps="lakehouse.protocol.seals.load_group:_agree",
        lets_pass=gives(True),
        guard=_FENCE + "test_half_a_step_is_read_again",
    ),
)
