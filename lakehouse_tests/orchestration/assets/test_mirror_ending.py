"""Commands on mirrors, some of them killed: between changelog and mirror, or before Dagster hears of the mirror."""

import signal

import pytest

from lakehouse.declarations import MirrorTables
from lakehouse.steps.cdc.status import MirrorStanding, mirror_standing
from lakehouse.steps.cdc.verify.verify import check_fold
from lakehouse_tests.orchestration.assets.house import House, materializations
from lakehouse_tests.orchestration.assets.test_ending import start
from lakehouse_tests.orchestration.automation.test_mirror_sensor import look

pytestmark = [pytest.mark.kill, pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]


def killed(house: House, place: str) -> None:
    process = start(house, f"{place}=kill")
    output = process.communicate(timeout=400)[0]
    assert process.returncode == -signal.SIGKILL, output


def standing(house: House, tables: MirrorTables) -> MirrorStanding:
    return mirror_standing(house.lake().catalog, tables)


def require_proven(house: House, tables: MirrorTables) -> None:
    proof = check_fold(house.lake().catalog, tables)
    assert proof.holds, proof


@pytest.fixture
def nests(house: House) -> MirrorTables:
    tables = house.follow(target_lag=0.001)
    for nest in range(4):
        house.change("c", 10 + nest, nest)
    return tables


@pytest.mark.soak
def test_killed_between_changelog_and_mirror_the_next_run_completes_the_mirror(
    working_house: House, nests: MirrorTables
) -> None:
    house = working_house
    killed(house, "dagster.mirror.begin")
    assert standing(house, nests).waiting == 4, "the changelog was published"
    assert look(house, nests).run_requests, "the sensor would start a run"
    output = house.command("run").output
    assert "not yet in their mirrors: mirror.nests: 4 changes" in output
    assert house.lake().arrow("mirror.nests").num_rows == 4
    assert "mirror.nests has reached position 0/13/0" in output
    assert not look(house, nests).run_requests
    require_proven(house, nests)
    require_rebuilt(house, nests)


@pytest.mark.soak
def test_killed_before_dagster_hears_of_the_mirror_nothing_happens_twice(
    working_house: House, nests: MirrorTables
) -> None:
    house = working_house
    killed(house, "dagster.mirror.before")
    before = standing(house, nests)
    assert (before.rows, before.waiting) == (4, 0), "it was published"
    assert not look(house, nests).run_requests
    again = house.run()
    assert again.success
    assert not materializations(again)
    assert standing(house, nests) == before
    require_proven(house, nests)


def require_rebuilt(house: House, nests: MirrorTables) -> None:
    """The command puts the folded changelog in the place of the mirror."""
    before = standing(house, nests)
    house.have_own_broker()
    assert "changes it folds" in house.command("rebuild", "mirror.nests", "--yes").output
    assert not house.settings.state.kafka.exists(), "no topic is read, so no broker is started"
    after = standing(house, nests)
    assert after.sealed is not None
    assert before.sealed is not None
    assert after.sealed.build != before.sealed.build
    assert (after.rows, after.waiting, after.rebuilt) == (4, 0, True)
    require_proven(house, nests)
