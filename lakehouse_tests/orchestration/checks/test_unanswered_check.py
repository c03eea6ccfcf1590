"""Dagster's warning about a check without a result: silent where the check was skipped with its table, else loud."""

from collections.abc import Iterator

import dagster as dg
import pytest

from lakehouse.orchestration.checks.unanswered_check import expect_unanswered
from lakehouse_tests.orchestration.assets.house import House


@dg.asset(key="rows", output_required=False)
def rows() -> Iterator[dg.MaterializeResult[None]]:
    """Finds nothing new."""
    yield from ()


@dg.asset(deps=["rows"])
def computed() -> None:
    """Is computed from them."""


def proof(name: str) -> dg.AssetChecksDefinition:
    @dg.multi_asset_check(name=name, specs=[dg.AssetCheckSpec("whole", asset="rows", blocking=True)])
    def prove() -> dg.AssetCheckResult:
        return dg.AssetCheckResult(passed=True)

    return prove


def skipped(check: dg.AssetChecksDefinition) -> set[str]:
    job = dg.Definitions(assets=[rows, computed], asset_checks=[check]).resolve_implicit_global_asset_job_def()
    result = job.execute_in_process()
    return {event.step_key or "" for event in result.filter_events(lambda event: event.is_step_skipped)}


def test_what_was_skipped_with_its_table_is_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    ours = proof("prove_rows")
    expect_unanswered([ours])
    assert skipped(ours) == {"prove_rows", "computed"}, "what is computed does not proceed"
    assert "emitted no result" not in caplog.text


def test_of_a_users_own_check_the_warning_stays(caplog: pytest.LogCaptureFixture) -> None:
    expect_unanswered([proof("prove_rows")])
    assert skipped(proof("mine")) == {"mine", "computed"}
    assert "emitted no result in step 'mine'" in caplog.text


@pytest.mark.kafka
def test_a_run_without_news_says_nothing_of_proofs(house: House, caplog: pytest.LogCaptureFixture) -> None:
    house.follow()
    assert house.run().success, "the first run seals the beginning"
    result = house.run()
    assert result.success
    proofs = {event.step_key for event in result.filter_events(lambda event: event.is_step_skipped)}
    assert "prove_nests" in proofs
    assert "emitted no result" not in caplog.text
