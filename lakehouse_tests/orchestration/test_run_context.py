"""The runtime date is fixed once per run, and no step asks the clock."""

from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from types import SimpleNamespace
from typing import Any, cast

import dagster as dg
import pytest

from lakehouse.orchestration.run_context import (
    BACKFILL_TAG,
    PARAMETERS_TAG,
    RUNTIME_DATE_TAG,
    BackfillTagInvalid,
    Execution,
    ParametersInvalid,
    RuntimeDateInvalid,
    RuntimeDateUnknown,
    StepContext,
    attempt_of,
    backfill_reason,
    execution_of,
    parameters_digest,
    run_parameters,
    runtime_date,
)
from lakehouse.settings import Parameter, load_settings
from lakehouse_tests.fixtures.broker import REPOSITORY

SETTINGS = load_settings(REPOSITORY / "conf", {})


@dataclass
class Context:
    """A step of a run whose creation is told."""

    tags: dict[str, str] = field(default_factory=dict[str, str])
    run_id: str = "11111111-1111-1111-1111-111111111111"
    root_run_id: str | None = None
    run_config: dict[str, Any] = field(default_factory=dict[str, Any])
    created: dict[str, datetime] = field(default_factory=dict[str, datetime])
    backfills: dict[str, datetime] = field(default_factory=dict[str, datetime])

    @property
    def run(self) -> dg.DagsterRun:
        return dg.DagsterRun(
            job_name="job",
            run_id=self.run_id,
            root_run_id=self.root_run_id,
            parent_run_id=self.root_run_id,
            tags=self.tags,
            run_config=self.run_config,
        )

    @property
    def instance(self) -> dg.DagsterInstance:
        def record(run_id: str) -> object:
            return SimpleNamespace(create_timestamp=self.created[run_id]) if run_id in self.created else None

        def backfill(backfill_id: str) -> object:
            return SimpleNamespace(backfill_timestamp=self.backfills[backfill_id].timestamp())

        return cast("dg.DagsterInstance", SimpleNamespace(get_run_record_by_id=record, get_backfill=backfill))


LATE = datetime(2026, 5, 13, 23, 30, tzinfo=UTC)


def date_of(context: Context, zone: str = "UTC") -> date:
    return runtime_date(cast("StepContext", context), zone)


def test_the_tag_wins() -> None:
    context = Context({RUNTIME_DATE_TAG: "2013-05-14"}, created={Context.run_id: LATE})
    assert date_of(context) == date(2013, 5, 14)


def test_without_a_tag_it_is_the_day_of_creation_in_the_configured_zone() -> None:
    context = Context(created={Context.run_id: LATE})
    assert date_of(context, "UTC") == date(2026, 5, 13)
    assert date_of(context, "Europe/Berlin") == date(2026, 5, 14)


def test_a_reexecution_keeps_the_date_of_the_first_run() -> None:
    root = "22222222-2222-2222-2222-222222222222"
    context = Context(root_run_id=root, created={root: LATE, Context.run_id: datetime(2026, 6, 1, tzinfo=UTC)})
    assert date_of(context) == date(2026, 5, 13)


def test_all_runs_of_a_backfill_have_one_date() -> None:
    context = Context({"dagster/backfill": "b"}, created={Context.run_id: datetime.now(UTC)}, backfills={"b": LATE})
    assert date_of(context) == date(2026, 5, 13)


@pytest.mark.parametrize("text", ["", "yesterday", "20130514", "2013-W20-2", "2013-05-14T00:00:00", "2013-02-30"])
def test_a_tag_that_is_no_date_is_refused_by_name(text: str) -> None:
    with pytest.raises(RuntimeDateInvalid, match=RUNTIME_DATE_TAG):
        date_of(Context({RUNTIME_DATE_TAG: text}))


def test_a_run_that_nobody_recorded_has_no_date_rather_than_todays() -> None:
    with pytest.raises(RuntimeDateUnknown, match=RUNTIME_DATE_TAG):
        date_of(Context())


def test_an_attempt_speaks_for_its_run() -> None:
    context = Context({RUNTIME_DATE_TAG: "2013-05-14"}, root_run_id="root")
    first, two = (attempt_of(cast("StepContext", context), SETTINGS, step="s", code_version="v") for _ in range(2))
    assert (first.run_id, first.root_run_id, first.runtime_date) == (context.run_id, "root", "2013-05-14")
    assert first.branch != two.branch


def test_how_a_run_is_executed_is_no_parameter() -> None:
    plain = parameters_digest(Context().run, {})
    assert parameters_digest(Context(run_config={"execution": {"x": 1}, "loggers": {}, "ops": {}}).run, {}) == plain
    assert parameters_digest(Context(run_config={"ops": {"a": {"config": {"x": 1}}}}).run, {}) != plain


def parameters_of(tag: str | None, **declared: Parameter) -> dict[str, Parameter]:
    tags = {} if tag is None else {PARAMETERS_TAG: tag}
    return run_parameters(Context(tags).run, SETTINGS.model_copy(update={"parameters": declared}))


def test_a_run_lays_its_own_parameters_over_the_declared_ones() -> None:
    assert parameters_of(None, share=0.5, zone="east") == {"share": 0.5, "zone": "east"}
    assert parameters_of('{"share": 1}', share=0.5, zone="east") == {"share": 1.0, "zone": "east"}


@pytest.mark.parametrize(
    ("tag", "message"),
    [
        ("share=1", "no JSON object"),
        ("[1]", "no JSON object"),
        ('{"shar": 1}', "shar is not declared (there is share)"),
        ('{"share": "a lot"}', "share is a str, not a float"),
        ('{"share": true}', "share is a bool, not a float"),
        ('{"share": null}', "share is no text, number or flag"),
        (f'{{"share": 1{"0" * 400}}}', "share is beyond 64 bits"),
    ],
)
def test_a_parameter_that_would_change_nothing_is_refused(tag: str, message: str) -> None:
    with pytest.raises(ParametersInvalid) as refused:
        parameters_of(tag, share=0.5)
    assert message in refused.value.message


def test_the_digest_of_parameters_is_the_same_for_the_same_values() -> None:
    run = Context().run
    digest = parameters_digest(run, {"a": 1, "b": "x"})
    assert digest == parameters_digest(run, {"b": "x", "a": 1})
    assert len({digest, parameters_digest(run, {"a": 2, "b": "x"}), parameters_digest(run, {})}) == 3


def test_an_attempt_carries_the_digest_of_its_runs_parameters() -> None:
    settings = SETTINGS.model_copy(update={"parameters": {"share": 0.5}})

    def digest(**tags: str) -> str:
        context = Context({RUNTIME_DATE_TAG: "2013-05-14", **tags})
        return attempt_of(cast("StepContext", context), settings, step="s").parameters_digest

    assert digest() == digest(**{PARAMETERS_TAG: '{"share": 0.5}'})
    assert digest() != digest(**{PARAMETERS_TAG: '{"share": 0.6}'})


def test_a_backfill_and_a_chain_of_re_executions_are_one_execution() -> None:
    root = "22222222-2222-2222-2222-222222222222"
    again = Context(root_run_id=root, created={root: LATE})
    assert execution_of(cast("StepContext", again)) == Execution(root, int(LATE.timestamp() * 1000))
    filling = Context({"dagster/backfill": "b"}, backfills={"b": LATE})
    assert execution_of(cast("StepContext", filling)) == Execution("b", int(LATE.timestamp() * 1000))


def test_a_backfill_is_declared_with_a_reason() -> None:
    assert not backfill_reason(Context().run)
    assert backfill_reason(Context({BACKFILL_TAG: " prices of May were late "}).run) == "prices of May were late"
    with pytest.raises(BackfillTagInvalid):
        backfill_reason(Context({BACKFILL_TAG: " "}).run)


def test_a_real_run_gives_its_date_to_its_steps() -> None:
    seen: list[date] = []

    @dg.asset
    def dated(context: dg.AssetExecutionContext) -> None:
        seen.append(runtime_date(context, "UTC"))

    before = datetime.now(UTC).date()
    dg.materialize([dated])
    dg.materialize([dated], tags={RUNTIME_DATE_TAG: "2013-05-14"})
    assert seen[0] in (before, datetime.now(UTC).date())
    assert seen[1] == date(2013, 5, 14)
