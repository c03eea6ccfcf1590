"""Change data in Dagster: topic to changelog to mirror in one job, again without effect, and anew on demand."""

from typing import Any

import dagster as dg
import pytest

import lakehouse.orchestration.assets.mirror
from lakehouse.orchestration.run_context import MIRROR_TAG, REBUILD_TAG, RUNTIME_DATE_TAG
from lakehouse.protocol.errors import Superseded
from lakehouse.steps.cdc.status import mirror_standing
from lakehouse.steps.cdc.step import MirrorStep
from lakehouse_tests.orchestration.assets.house import House, checks, materializations
from lakehouse_tests.orchestration.automation.standing import land_changes

pytestmark = [pytest.mark.spark, pytest.mark.kafka]
MIRROR = ("mirror.nests", "mirror.nests_tombstones", "quarantine.mirror_nests")
SECRET = "Finder-4711"


def rows(house: House, name: str = "mirror.nests") -> dict[int, int]:
    """Nest → eggs."""
    return {row["nest"]: row["eggs"] for row in house.lake().arrow(name).to_pylist()}


def metadata(result: dg.ExecuteInProcessResult, name: str = "mirror.nests") -> dict[str, Any]:
    return {key: value.value for key, value in materializations(result)[name].metadata.items()}


@pytest.mark.timeout(900)
def test_changes_reach_the_mirror_in_one_job_and_a_second_run_does_nothing(working_house: House) -> None:
    house = working_house
    tables = house.follow()
    for nest in range(5):
        house.change("c", 10 + nest, nest, eggs=nest)
    first = house.run(tags={RUNTIME_DATE_TAG: "2013-05-14"})
    assert first.success
    assert {"changelog.nests", "quarantine.nests", *MIRROR} <= set(materializations(first))
    assert rows(house) == {nest: nest for nest in range(5)}
    values = metadata(first)
    assert (values["rows inserted"], values["rows updated"], values["rows deleted"]) == (5, 0, 0)
    assert (values["changes"], values["dagster/row_count"], values["position"]) == (5, 5, "0/14/0")
    assert values["kind"] == "mirror"
    assert values["runtime date"] == "2013-05-14"
    assert values["delay (s)"] >= 0
    assert values["source time reached"] == 1_700_000_000.014
    assert values["files written"] == 1
    assert values["bytes written"] > 0
    assert "| rows inserted | 5 | 5 |" in values["plan"]
    assert "image/png;base64" in values["changes and rows"]
    assert values["snapshot id"] == str(house.lake().pin("mirror.nests")["mirror.nests"].snapshot_id)
    assert (materializations(first)["mirror.nests"].tags or {})[MIRROR_TAG] == "mirror.nests"

    house.change("u", 20, 1, eggs=7)
    house.change("d", 21, 2)
    house.change("c", 22, 9, eggs=9)
    house.change("d", 5, 3)  # older than what is known
    second = house.run()
    assert second.success
    assert rows(house) == {0: 0, 1: 7, 3: 3, 4: 4, 9: 9}
    values = metadata(second)
    assert (values["rows inserted"], values["rows updated"], values["rows deleted"], values["keys unchanged"]) == (
        1,
        1,
        1,
        1,
    )
    assert metadata(second, "mirror.nests_tombstones")["rows added"] == 1
    mirrored = {name: check for name, check in checks(second).items() if name.startswith("mirror.nests ")}
    assert mirrored
    assert all(check.passed for check in mirrored.values()), mirrored

    third = house.run()
    assert third.success
    assert not materializations(third)
    assert mirror_standing(house.lake().catalog, tables).waiting == 0

    again = house.run(*MIRROR, tags={REBUILD_TAG: "true"})
    assert again.success
    assert set(materializations(again)) == set(MIRROR), "the changelog is not read anew"
    values = metadata(again)
    assert (values["kind"], values["changes"], values["rows inserted"], values["dagster/row_count"]) == (
        "rebuild",
        9,
        5,
        5,
    )
    assert "delay (s)" not in values
    assert rows(house) == {0: 0, 1: 7, 3: 3, 4: 4, 9: 9}


def test_a_value_of_a_sensitive_column_is_nowhere_in_a_run(working_house: House) -> None:
    house = working_house
    house.follow()
    house.change("c", 10, 1, finder=SECRET)
    house.change("u", 10, 1, finder=f"{SECRET}-too")  # contradicts the first
    result = house.run("changelog.nests", "quarantine.nests", *MIRROR)
    assert result.success
    assert metadata(result)["contradictions"] == 1
    assert SECRET in str(house.lake().arrow("mirror.nests", columns=["finder"]).to_pylist())
    for entry in house.instance.all_logs(result.run_id):
        assert SECRET not in str(entry.to_json())
        assert SECRET not in entry.user_message


def test_who_was_superseded_succeeds_and_materializes_nothing(
    working_house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_late(_: MirrorStep) -> None:
        raise Superseded("mirror.nests: attempt x published snapshot 1 first.")

    monkeypatch.setattr(lakehouse.orchestration.assets.mirror, "mirror", too_late)
    working_house.follow()
    result = working_house.run(*MIRROR)
    assert result.success
    assert not materializations(result)


def test_a_tag_that_says_neither_yes_nor_no_rebuilds_nothing(house: House) -> None:
    house.follow()
    result = house.run(*MIRROR, tags={REBUILD_TAG: "yes"})
    assert not result.success
    assert "write it as true" in failure(result, "mirror_nests")


def test_a_mirror_that_refuses_leaves_another_mirror_green(working_house: House) -> None:
    house = working_house
    refusing, other = house.follow("nests"), house.follow("feeders")
    land_changes(house, refusing, 2)
    assert house.run(*MIRROR).success
    house.lake().catalog.drop_table(("changelog", "nests"))
    for tables in (refusing, other):
        land_changes(house, tables, 3)
    feeders = [name.replace("nests", "feeders") for name in MIRROR]
    result = house.run(*MIRROR, *feeders)
    assert not result.success
    assert set(materializations(result)) == set(feeders)
    assert "lakehouse rebuild mirror.nests" in failure(result, "mirror_nests")


def failure(result: dg.ExecuteInProcessResult, step: str) -> str:
    [failed] = result.get_step_failure_events()
    assert failed.step_key == step
    assert failed.step_failure_data.error is not None
    return failed.step_failure_data.error.to_string()
