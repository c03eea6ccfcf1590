"""What the runs of a command did, as `--json` prints it, and whether that was good."""

import json

import dagster as dg

from lakehouse.cli.reports.outcome import Mirrored, RunOutcome


def contract(*, passed: bool = True, severity: str = "ERROR") -> dg.AssetCheckEvaluation:
    return dg.AssetCheckEvaluation(
        asset_key=dg.AssetKey(["raw", "birds"]),
        check_name="contract",
        passed=passed,
        metadata={},
        severity=dg.AssetCheckSeverity(severity),
        description="All 4 rows.",
    )


def outcome(*checks: dg.AssetCheckEvaluation) -> RunOutcome:
    return RunOutcome(
        added={"raw.birds": 4},
        written={"mart.nests": 2},
        mirrored={"mirror.nests": Mirrored(changes=3, inserted=2, updated=1)},
        checks={("raw.birds", check.check_name): check for check in checks},
        runs=["a run"],
    )


def test_it_is_data_for_machines() -> None:
    assert json.loads(json.dumps(outcome(contract()).as_data())) == {
        "good": True,
        "runs": ["a run"],
        "rows_added": {"raw.birds": 4},
        "rows_written": {"mart.nests": 2},
        "released": {},
        "mirrors": {"mirror.nests": {"changes": 3, "inserted": 2, "updated": 1, "deleted": 0, "refused": 0}},
        "checks": [
            {
                "table": "raw.birds",
                "check": "contract",
                "passed": True,
                "severity": "ERROR",
                "description": "All 4 rows.",
            }
        ],
        "failures": {},
    }


def test_a_warning_is_allowed_a_failed_check_is_not_and_no_check_proves_nothing() -> None:
    assert outcome(contract(passed=False, severity="WARN")).good
    assert not outcome(contract(passed=False)).good
    assert not outcome().good


def test_a_failed_check_is_a_broken_promise_and_a_failed_step_could_not_run() -> None:
    assert outcome(contract()).exit_code == 0
    assert outcome(contract(passed=False, severity="WARN")).exit_code == 0
    failed = outcome(contract())
    failed.failures["ingest_birds"] = "No Kafka broker answers."
    assert failed.exit_code == 2
    assert outcome().exit_code == 2
    broken = outcome(contract(passed=False))
    assert broken.exit_code == 1
    broken.failures["ingest_birds"] = "No Kafka broker answers."
    assert broken.exit_code == 1


def test_a_step_that_succeeds_later_has_not_failed() -> None:
    """A release over two components is tried with the first, before the second has been computed."""
    ready = [False, True, False]

    @dg.asset
    def pointer() -> None:
        if not ready.pop(0):
            raise ValueError("a member was never written")

    outcome = RunOutcome()

    def failed() -> list[str]:
        outcome.add(dg.materialize([pointer], raise_on_error=False))
        return list(outcome.failures)

    assert [failed(), failed(), failed()] == [["pointer"], [], ["pointer"]]


def test_rows_that_take_the_place_of_others_are_not_added_up() -> None:
    @dg.asset
    def nests() -> dg.MaterializeResult[None]:
        return dg.MaterializeResult(metadata={"rows written": 5})

    @dg.asset
    def birds() -> dg.MaterializeResult[None]:
        return dg.MaterializeResult(metadata={"rows added": 5})

    outcome = RunOutcome()
    for _ in range(2):
        outcome.add(dg.materialize([nests, birds]))
    assert (outcome.written, outcome.added) == ({"nests": 5}, {"birds": 10})
