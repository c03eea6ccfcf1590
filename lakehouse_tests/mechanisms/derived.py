"""What keeps derived tables and releases of one vintage."""

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from lakehouse.proofs.audit.columns import ColumnsProof
from lakehouse.protocol.seals.read_group import read_group
from lakehouse.steps.derived.refusals import ComputedOtherwise
from lakehouse.steps.maintenance.verify.foreign_rewrites import _Verdict
from lakehouse.steps.release.errors import TagRefused
from lakehouse.steps.release.pointer import read_pointer
from lakehouse_tests.mechanisms.mechanism import Function, Mechanism, gives, ignores


def _today(original: Function) -> Function:
    """A run was created when it is asked."""

    def passing(run: Any, instance: Any, zone: ZoneInfo) -> datetime:
        return datetime.now(UTC).astimezone(zone)

    return passing


def _unpinned(original: Function) -> Function:
    """Each step reads what main holds when it begins."""
    return lambda catalog, names, pin: read_group(catalog, names)


def _raises_all(original: Function) -> Function:
    """A part of a proof ends all of it."""
    return lambda attempted, what, snapshots, find, otherwise: find()


def _from_now(original: Function) -> Function:
    """The pointer moves from wherever it is."""

    def passing(catalog: Any, pointer: Any, *args: Any) -> int:
        return original(catalog, read_pointer(catalog.load_table(pointer.base.identifier)), *args)

    return passing


_RUNTIME = "orchestration/test_run_context.py::"
_CARRIED = "protocol/seals/test_carried.py::"
_INPUTS = "steps/derived/test_plan.py::"
_RELEASE = "steps/release/test_pointer.py::"
DERIVED = (
    Mechanism(
        name="rows as the run left them",
        promise="P1: The newest snapshot is edited to list the files of an older one, and no seal contradicts it.",
        keeps="lakehouse.proofs.lineage.audit:_rows",
        lets_pass=gives([]),
        guard="cli/commands/prove/kinds/test_files.py::test_an_older_list_of_manifests_is_named",
    ),
    Mechanism(
        name="runtime date",
        promise="P3: A run that is tried again tomorrow computes for another date.",
        keeps="lakehouse.orchestration.run_context:_created",
        lets_pass=_today,
        guard=_RUNTIME + "test_a_reexecution_keeps_the_date_of_the_first_run",
    ),
    Mechanism(
        name="parameters",
        promise="P3: Runs with other parameters cannot be told apart.",
        keeps="lakehouse.orchestration.run_context:parameters_digest",
        lets_pass=gives(""),
        guard=_RUNTIME + "test_an_attempt_carries_the_digest_of_its_runs_parameters",
    ),
    Mechanism(
        name="parameters by use",
        promise="P3: Tables that were computed with two values of a parameter pass for ones that never read it.",
        keeps="lakehouse.steps.derived.used_parameters:UsedParameters._note",
        lets_pass=gives(None),
        guard="orchestration/resources/test_used_parameters.py::test_what_the_asset_has_read_counts",
    ),
    Mechanism(
        name="parameters that are shared",
        promise="P3: An input that used another value of a parameter than the run has is joined.",
        keeps="lakehouse.proofs.lineage.computations:Computation.is_of",
        lets_pass=gives(True),
        guard="proofs/lineage/test_computations.py::test_a_run_names_all_that_it_has",
    ),
    Mechanism(
        name="pins",
        promise="P3: Two steps of one run read two versions of a table.",
        keeps="lakehouse.steps.derived.inputs.pins:pin_inputs",
        lets_pass=_unpinned,
        guard="steps/derived/inputs/test_pins.py::test_every_step_of_a_run_finds_what_the_first_has_pinned[sql_lake]",
    ),
    Mechanism(
        name="pins of a step",
        promise="P3: What an asset of a user's own has read once cannot be read again after an expiry.",
        keeps="lakehouse.orchestration.resources.pins.step_pins:pinned_tables",
        lets_pass=_unpinned,
        guard="orchestration/resources/pins/test_step_pins.py::test_what_was_read_is_read_again_after_many_publishes_and_an_expiry",
    ),
    Mechanism(
        name="moment of a run in another catalog",
        promise="P3: Two steps of one run read two versions of a table of another catalog.",
        keeps="lakehouse.steps.derived.inputs.pins:read_as_of",
        lets_pass=_unpinned,
        guard="steps/derived/inputs/test_elsewhere.py::"
        "test_a_table_is_read_as_it_was_when_the_run_began_and_nothing_is_written_there",
    ),
    Mechanism(
        name="tables of another catalog are read",
        promise="P2: What one step changes is in two catalogs, which no transaction spans.",
        keeps="lakehouse.protocol.catalog.among_others:_require_own",
        lets_pass=gives(None),
        guard="protocol/catalog/test_among_others.py::test_no_publish_and_no_release_spans_two_catalogs[sql_lake]",
    ),
    Mechanism(
        name="catalogs that there are",
        promise="P3: A table names a catalog that nobody chose, and fails when it is computed, if not before.",
        keeps="lakehouse.declarations.registry.loading:check_catalogs",
        lets_pass=gives(None),
        guard="declarations/registry/test_other_catalogs.py::"
        "test_a_catalog_that_nobody_chose_is_refused_by_name_and_stops_that_table_alone",
    ),
    Mechanism(
        name="agreement of inputs",
        promise="P3: A table is computed from inputs of another date, or of other parameters.",
        keeps="lakehouse.steps.derived.inputs.agreement:_differs",
        lets_pass=gives([]),
        guard=_INPUTS + "test_an_input_of_another_date_or_of_other_parameters",
    ),
    Mechanism(
        name="vintage",
        promise="P3: Two ways to a shared input lead to two versions of it.",
        keeps="lakehouse.proofs.lineage.vintage:_compared",
        lets_pass=gives(((), ())),
        guard="proofs/lineage/test_two_versions.py::test_two_versions_of_a_shared_input_are_found",
    ),
    Mechanism(
        name="rows of others",
        promise="P3: Rows of two sets of parameters stand side by side in a growing table.",
        keeps="lakehouse.steps.derived.plan:_require_parameters",
        lets_pass=gives(None),
        guard=_INPUTS + "test_new_rows_beside_those_of_other_parameters",
    ),
    Mechanism(
        name="commits of strangers",
        promise="P3: What somebody writes to a computed table outside the protocol passes every audit.",
        keeps="lakehouse.protocol.seals.covered:unsealed_commits",
        lets_pass=gives([]),
        guard="proofs/lineage/test_foreign_commits.py::test_what_is_buried_below_newer_seals_is_named",
    ),
    Mechanism(
        name="rewrites of strangers",
        promise="P5: A commit that calls itself a compaction changes values, and passes every audit.",
        keeps="lakehouse.steps.maintenance.verify.foreign_rewrites:_judged",
        lets_pass=gives(_Verdict()),
        guard="steps/maintenance/verify/test_foreign_rewrites.py::test_a_value_that_was_changed_is_named_also_below_newer_seals",
    ),
    Mechanism(
        name="open matters in seals",
        promise="P5: A red audit turns green by itself, as publishing trims the history that shows why.",
        keeps="lakehouse.protocol.seals.carried:carry_on",
        lets_pass=lambda _: lambda seal, base: seal,
        guard=_CARRIED + "test_a_finding_outlives_what_publishing_trims_and_expiry_deletes",
    ),
    Mechanism(
        name="evidence that is kept",
        promise="P5: The snapshots that prove a rewrite wrong are trimmed, and its rows are released.",
        keeps="lakehouse.protocol.seals.carried:evidence",
        lets_pass=gives({}),
        guard="protocol/seals/test_foreign_rewrites.py::test_rows_that_a_rewrite_changed_are_not_released_after_its_history_has_gone",
    ),
    Mechanism(
        name="table that was dropped",
        promise="P1: A table is dropped with all its records, and no audit calls that a broken promise.",
        keeps="lakehouse.proofs.audit.accounted_tables:judge_missing",
        lets_pass=gives([]),
        guard="proofs/audit/test_accounted_tables.py::test_a_table_that_was_dropped_hides_nothing_of_its_siblings",
    ),
    Mechanism(
        name="branch that was removed",
        promise="P1: Somebody removes `main`, so that readers find a table empty, and every audit holds.",
        keeps="lakehouse.protocol.seals.lost_main:lost_main",
        lets_pass=gives(""),
        guard="cli/commands/prove/kinds/test_commits.py::test_a_main_that_somebody_removed",
    ),
    Mechanism(
        name="columns that were dropped",
        promise="P1: Somebody drops a column with all its values, and every audit holds.",
        keeps="lakehouse.proofs.audit.columns:audit_columns",
        lets_pass=lambda _: lambda table, declared: ColumnsProof(declared.name),
        guard="proofs/audit/test_columns.py::test_a_column_that_was_renamed",
    ),
    Mechanism(
        name="findings beside errors",
        promise="P1: One thing that cannot be read hides every broken promise beside it.",
        keeps="lakehouse.protocol.damage.attempted:Attempted.part",
        lets_pass=_raises_all,
        guard="protocol/damage/test_attempted.py::test_a_part_that_fails_ends_no_other",
    ),
    Mechanism(
        name="inputs of strangers",
        promise="P3: A table is computed from what somebody wrote to its input outside the protocol.",
        keeps="lakehouse.steps.derived.inputs.inputs:require_sealed",
        lets_pass=gives(None),
        guard=_INPUTS + "test_an_input_that_was_written_to_outside_the_protocol",
    ),
    Mechanism(
        name="newer rows",
        promise="P3: An old run that is executed again puts its rows in the place of newer ones.",
        keeps="lakehouse.steps.derived.plan:_newer_rows",
        lets_pass=gives([]),
        guard="steps/derived/test_newer_rows.py::test_an_older_date_over_a_newer_one[full]",
    ),
    Mechanism(
        name="date of the winner",
        promise="P3: A run whose race was won for another date ends as if its own table was made.",
        keeps="lakehouse.steps.derived.step:_outdone",
        lets_pass=ignores(ComputedOtherwise, gives=True),
        guard=_INPUTS + "test_a_race_that_was_won_for_another_date",
    ),
    Mechanism(
        name="dates of rows",
        promise="P3: Rows that carry another date than their run are not found.",
        keeps="lakehouse.proofs.lineage.dates:_Judged._judge",
        lets_pass=gives([]),
        guard="proofs/lineage/test_dates.py::test_a_date_of_another_run_fails_and_says_which_was_expected_of_whom",
    ),
    Mechanism(
        name="rewrites before a release",
        promise="P3: Readers are given rows that a commit changed which calls itself a compaction.",
        keeps="lakehouse.steps.release.gate.rewrites:rewrite_reasons",
        lets_pass=gives([]),
        guard="steps/release/gate/test_rewrites.py::test_a_rewrite_that_changed_a_value_holds_the_release",
    ),
    Mechanism(
        name="release gate",
        promise="P3: A release goes ahead on results about another snapshot.",
        keeps="lakehouse.steps.release.gate.judgement:_judged",
        lets_pass=gives(None),
        guard=_RELEASE + "test_a_result_about_another_snapshot_does_not_count",
    ),
    Mechanism(
        name="dates of members",
        promise="P3: A release has members of two dates, or of two sets of parameters.",
        keeps="lakehouse.steps.release.gate.agreement:disagreement",
        lets_pass=gives([]),
        guard=_RELEASE + "test_members_of_two_dates",
    ),
    Mechanism(
        name="tags before the pointer",
        promise="P3: The pointer names a release whose snapshots nothing keeps.",
        keeps="lakehouse.steps.release.tags.release_tags:set_tags",
        lets_pass=gives(None),
        guard=_RELEASE + "test_every_member_is_tagged_before_the_pointer_names_the_release",
    ),
    Mechanism(
        name="immutable tags",
        promise="P3: A release that is being read becomes another one.",
        keeps="lakehouse.steps.release.tags.release_tags:_missing",
        lets_pass=ignores(TagRefused),
        guard="steps/release/tags/test_release_tags.py::test_a_tag_that_is_there_is_never_moved",
    ),
    Mechanism(
        name="the current tag",
        promise="P3: An engine that reads what is current by name gets the release before.",
        keeps="lakehouse.steps.release.tags.current_tag:follow_pointer",
        lets_pass=gives(None),
        guard="steps/release/tags/test_current_tag.py::test_it_follows_the_pointer_forward_and_back",
    ),
    Mechanism(
        name="tag and record",
        promise="P3: A reader believes a tag that somebody has moved.",
        keeps="lakehouse.steps.release.reading:require_tag",
        lets_pass=gives(None),
        guard=_RELEASE + "test_a_tag_that_somebody_has_moved_is_not_believed",
    ),
    Mechanism(
        name="pointer",
        promise="P3: Of two releases, or a release and a rollback, one undoes the other unseen.",
        keeps="lakehouse.steps.release.pointer:move_pointer",
        lets_pass=_from_now,
        guard=_RELEASE + "test_of_two_moves_from_one_place_the_second_is_superseded",
    ),
)
