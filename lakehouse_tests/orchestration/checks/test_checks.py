"""What a reader of a check learns, and that a check that cannot be answered does not look like one that failed."""

import json

import dagster as dg
import pytest

from lakehouse.build import PROVE_JOB
from lakehouse_tests.orchestration.assets.house import House, checks

pytestmark = [pytest.mark.spark, pytest.mark.kafka]


def prove(house: House) -> dg.ExecuteInProcessResult:
    """Run the checks alone."""
    return (
        house.defs(spark=dg.ResourceDefinition.none_resource())
        .resolve_job_def(PROVE_JOB)
        .execute_in_process(instance=house.instance, raise_on_error=False)
    )


def text(check: dg.AssetCheckEvaluation) -> str:
    return f"{check.description} " + " ".join(str(value.value) for value in check.metadata.values())


@pytest.fixture
def full_house(working_house: House) -> House:
    working_house.birds(20)
    working_house.send(b"no bird", {"name": "swan", "count": 1, "weight": 31.5})
    assert working_house.run().success
    return working_house


def test_checks_run_alone_without_spark_and_name_the_snapshot_they_judged(full_house: House) -> None:
    result = prove(full_house)
    assert result.success
    by_name = checks(result)
    for name in ("raw.birds", "quarantine.birds"):
        check = by_name[f"{name} exactly_once"]
        snapshot = full_house.lake().pin(name)[name].snapshot_id
        assert check.passed
        assert str(snapshot) in text(check)
        assert "decided by" in text(check)
    assert "All 21 rows" in str(by_name["raw.birds exactly_once"].description)


def test_a_warning_rule_warns_and_says_how_many_without_a_value(full_house: House) -> None:
    check = checks(prove(full_house))["raw.birds contract_rules"]
    assert not check.passed
    assert check.severity is dg.AssetCheckSeverity.WARN
    assert check.metadata["rows that break a warning rule"].value == 1
    assert "weight" in text(check)
    assert "not_json" in text(check)
    assert "31.5" not in text(check)


def test_rows_from_outside_the_protocol_fail_the_proof(full_house: House) -> None:
    table = full_house.lake().catalog.load_table(("raw", "birds"))
    table.append(table.scan(limit=2).to_arrow())
    result = prove(full_house)
    assert not result.success, "nothing may be computed from it, or released"
    by_name = checks(result)
    check = by_name["raw.birds exactly_once"]
    assert not check.passed
    assert check.severity is dg.AssetCheckSeverity.ERROR
    assert "promise is broken" in str(check.description)
    assert "unsealed_commit" in text(check)
    assert by_name["quarantine.birds exactly_once"].passed, "its rows are as sealed"
    assert "in doubt" in str(by_name["raw.birds freshness_and_lag"].description)


def test_late_is_a_warning_with_the_age(full_house: House) -> None:
    stream = (full_house.conf / "declarations" / "sightings.py").read_text()
    full_house.declare(
        "sightings",
        "from datetime import timedelta\n" + stream.replace("route=", "freshness=timedelta(milliseconds=1), route="),
    )
    assert checks(prove(full_house))["raw.birds freshness_and_lag"].passed
    full_house.birds(3)
    check = checks(prove(full_house))["raw.birds freshness_and_lag"]
    assert not check.passed
    assert check.severity is dg.AssetCheckSeverity.WARN
    assert check.metadata["lag"].value == 3
    assert "longer than" in str(check.description)


def test_an_absent_broker_leaves_freshness_unanswered_and_the_proof_answered(full_house: House) -> None:
    (full_house.conf / "kafka" / "local.yaml").write_text(json.dumps({"bootstrap_servers": "127.0.0.1:1"}))
    result = prove(full_house)
    assert not result.success
    [failed] = result.get_step_failure_events()
    assert failed.step_failure_data.error is not None
    assert "BrokerUnreachable" in failed.step_failure_data.error.to_string()
    by_name = checks(result)
    assert by_name["raw.birds exactly_once"].passed
    assert "raw.birds freshness_and_lag" not in by_name


def test_before_the_first_record_there_is_nothing_to_prove(working_house: House) -> None:
    lake = working_house.lake()
    lake.ensure(lake.declarations.tables)
    by_name = checks(prove(working_house))
    assert all(check.passed for check in by_name.values())
    assert "nothing to prove" in str(by_name["raw.birds exactly_once"].description)
    assert "No records were judged" in str(by_name["raw.birds contract_rules"].description)


def test_without_the_tables_a_check_is_an_error_and_not_a_verdict(working_house: House) -> None:
    result = prove(working_house)
    assert not result.success
    by_name = checks(result)
    assert {name.partition(".")[0] for name in by_name} == {"maintenance"}, "what is not there needs none"
    assert all("does not exist yet" in str(check.description) for check in by_name.values())
