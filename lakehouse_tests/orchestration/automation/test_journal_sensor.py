"""The audit log is complete whatever becomes of Dagster, and Dagster learns of what it did not hear."""

import json

import dagster as dg
import pytest

from lakehouse_tests.orchestration.automation.marts import Mart, commanded

pytestmark = pytest.mark.slow


def kinds(mart: Mart) -> list[str]:
    return sorted(f"{row.kind} {row.outcome}" for row in mart.log)


def test_a_run_its_commits_and_its_checks_are_logged_with_who_started_it(mart: Mart) -> None:
    run = mart.make()
    mart.tick()
    assert kinds(mart) == ["check passed", "commit published", "run success"]
    by_kind = {row.kind: row for row in mart.log}
    assert {row.run_id for row in mart.log} == {run.run_id}
    assert {row.who for row in mart.log} == {"Dagster's UI or API"}
    assert by_kind["commit"].snapshot_id == by_kind["check"].snapshot_id == mart.snapshot()
    assert by_kind["commit"].step == "write:mart.nests"
    assert by_kind["check"].message == "enough: Each bird has nests."
    assert json.loads(by_kind["check"].details)["numbers"] == {"birds": 1}
    assert json.loads(by_kind["run"].details)["tables"] in ([], ["mart.nests"])


def test_where_nothing_happened_a_look_writes_nothing(mart: Mart) -> None:
    mart.make()
    cursor = mart.tick().cursor
    lake = mart.lake()
    before = lake.catalog.load_table(("lakehouse", "audit_log")).metadata_location
    again = mart.tick(cursor)
    assert again.skip_message == "nothing happened since the last look"
    assert lake.catalog.load_table(("lakehouse", "audit_log")).metadata_location == before


def test_a_look_that_forgot_everything_adds_nothing(mart: Mart) -> None:
    mart.make()
    mart.tick()
    before = mart.log
    tick = mart.tick(cursor=None)
    assert tick.skip_message == "0 events logged"
    assert mart.log == before


def test_a_failed_check_is_logged_with_its_severity_and_what_it_stopped(mart: Mart) -> None:
    mart.make(nests=1)
    mart.tick()
    assert kinds(mart) == ["check failed", "commit published", "refusal refused", "run failure"]
    by_kind = {row.kind: row for row in mart.log}
    assert by_kind["check"].severity == "ERROR"
    assert "enough" in by_kind["refusal"].message


def test_a_refusal_of_ours_is_logged_in_its_own_words_and_names_its_table(mart: Mart) -> None:
    mart.make(trouble="ours")
    mart.tick()
    refusal = next(row for row in mart.log if row.kind == "refusal")
    assert (refusal.outcome, refusal.table_name) == ("refused", "mart.nests")
    assert refusal.message.startswith("Table mart.secret is not declared.")


def test_a_refusal_that_a_step_shows_in_its_own_way_is_one_of_ours(mart: Mart) -> None:
    mart.make(trouble="shown")
    mart.tick()
    refusal = next(row for row in mart.log if row.kind == "refusal")
    assert (refusal.outcome, refusal.message) == ("refused", "The inputs do not agree.")


def test_the_words_of_any_other_error_stay_out_of_the_log(mart: Mart) -> None:
    mart.make(trouble="the value hunter2 cannot be cast")
    mart.tick()
    refusal = next(row for row in mart.log if row.kind == "refusal")
    assert (refusal.outcome, json.loads(refusal.details)["error"]) == ("error", "ValueError")
    assert "hunter2" not in str(mart.log)


def test_what_a_killed_run_published_is_told_to_dagster_once_as_its_asset_would_have(mart: Mart) -> None:
    mart.make()
    [heard] = mart.heard()
    mart.instance.wipe_assets([dg.AssetKey(["mart", "nests"])])  # as if it had never been told
    [event] = mart.tick().asset_events
    assert isinstance(event, dg.AssetMaterialization)
    same = ("snapshot id", "dagster/row_count", "dagster/column_schema", "dagster/table_name")
    assert {key: event.metadata[key] for key in same} == {key: heard.metadata[key] for key in same}
    assert heard.tags is not None
    assert event.tags is not None
    both = ("lakehouse/runtime_date", "lakehouse/attempt", "dagster/data_version")
    assert {key: event.tags[key] for key in both} == {key: heard.tags[key] for key in both}
    assert event.metadata["reconciled"].value is True
    assert not mart.tick().asset_events
    assert len(mart.heard()) == 1


def test_a_run_that_has_not_ended_tells_by_itself(mart: Mart) -> None:
    run = mart.make()
    mart.instance.wipe_assets([dg.AssetKey(["mart", "nests"])])
    mart.instance.delete_run(run.run_id)
    under_way = mart.instance.create_run_for_job(
        mart.defs().resolve_implicit_global_asset_job_def(), run_id=run.run_id, status=dg.DagsterRunStatus.STARTED
    )
    first = mart.tick()
    assert not first.asset_events
    mart.instance.report_run_failed(under_way)
    assert mart.tick(first.cursor).asset_events, "its end is a reason to look again"


def test_an_older_publish_is_not_told_when_a_newer_one_was(mart: Mart) -> None:
    mart.make()
    mart.instance.wipe_assets([dg.AssetKey(["mart", "nests"])])
    mart.make(nests=5)
    assert not mart.tick().asset_events
    assert [row.outcome for row in mart.log if row.kind == "commit"] == ["published", "published"]


def test_a_rollback_makes_no_materialization_of_what_dagster_heard_long_ago(mart: Mart) -> None:
    mart.make()
    first = mart.snapshot()
    mart.make(nests=5)
    mart.lake().catalog.load_table("mart.nests").manage_snapshots().set_current_snapshot(snapshot_id=first).commit()
    assert not mart.tick().asset_events
    assert len(mart.heard()) == 2


def test_another_dagster_database_begins_anew_and_the_log_keeps_what_it_had(mart: Mart) -> None:
    mart.make()
    mart.tick()
    before = mart.log
    with dg.DagsterInstance.ephemeral() as fresh:
        mart.instance = fresh
        [event] = mart.tick().asset_events
        assert event.metadata["snapshot id"].value == str(mart.snapshot())
        assert mart.log == before
        mart.make(nests=4)
        mart.tick()
    assert mart.log[: len(before)] == before
    assert len(mart.log) == len({row.event_id for row in mart.log}) == 6


@pytest.mark.kill
def test_killed_between_publish_and_dagsters_event_the_log_is_complete_afterwards(
    mart: Mart, monkeypatch: pytest.MonkeyPatch
) -> None:
    mart.command("dagster.before=kill")
    snapshot = mart.snapshot()
    assert not mart.log, "nobody has told anybody"
    with commanded(mart, monkeypatch):
        assert not mart.heard()
    output = mart.command()
    assert "told Dagster of 1 materialization of killed runs" in output
    published = [row for row in mart.log if row.kind == "commit"]
    assert [row.snapshot_id for row in published] == [snapshot, mart.snapshot()]
    killed, ended = (row for row in mart.log if row.kind == "run")
    assert (killed.outcome, ended.outcome) == ("failure", "success")
    assert published[0].run_id == killed.run_id
    with commanded(mart, monkeypatch):
        assert [str(event.metadata["snapshot id"].value) for event in mart.heard()] == [
            str(mart.snapshot()),
            str(snapshot),
        ]
    assert len({row.event_id for row in mart.log}) == len(mart.log)
