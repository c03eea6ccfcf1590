"""A release is asked for with its members, in the run that computes them, and never past a blocking check."""

from datetime import date

import dagster as dg
import pytest

from lakehouse.declarations import ByMonth
from lakehouse_tests.orchestration.automation.followed import ALL, FEATURES, Followed, derived, release

pytestmark = pytest.mark.slow

POINTER = "release.marts"


@pytest.fixture
def released(instance: dg.DagsterInstance) -> Followed:
    """The features, of which some are released; computed and released once."""
    followed = Followed(instance, FEATURES, [release("features.fleet", "features.training", "raw.planes")])
    followed.look()
    followed.write(*followed.raw)
    assert followed.follow() == [{*ALL, POINTER}]
    assert followed.made[-1] == POINTER, "after its members"
    assert followed.look() == []
    followed.made.clear()
    return followed


def test_news_computes_the_members_and_releases_them_in_one_run(released: Followed) -> None:
    released.write("raw.weather")
    assert released.follow() == [{*ALL, POINTER}]
    assert released.made[-1] == POINTER
    assert released.look() == []


def test_a_blocking_check_of_a_member_leaves_the_release_out_of_the_run(released: Followed) -> None:
    released.failing.add("features.training")
    released.write("raw.weather")
    assert released.follow() == [{*ALL, POINTER}]
    assert POINTER not in released.made
    assert released.look() == []
    released.failing.clear()
    released.write("features.training")
    assert released.follow() == [{POINTER}], "after the repair it moves"
    assert released.look() == []


def test_a_blocking_check_above_the_members_holds_the_release_back(released: Followed) -> None:
    released.failing.add("raw.weather")
    released.write("raw.weather")
    assert released.follow() == [{"features.delays", "features.fleet"}], "fleet is new, training is not"
    assert released.look() == []
    released.failing.clear()
    released.write("raw.weather")
    assert released.follow() == [{*ALL, POINTER}]
    assert released.look() == []


def test_a_member_that_somebody_computes_by_hand_is_news(released: Followed) -> None:
    released.write("features.fleet")
    assert released.follow() == [{POINTER}]
    assert released.look() == []


def test_a_release_waits_while_a_member_is_computed(released: Followed) -> None:
    released.write("features.fleet")
    with released.running("features.training"):
        assert released.look() == []
    assert released.follow() == [{POINTER}]


def test_the_run_of_everything_leaves_nothing_to_ask_for(released: Followed) -> None:
    released.write(*released.raw, *ALL, POINTER)
    assert released.look() == []


def test_a_failed_check_of_another_component_holds_back_nothing_here(instance: dg.DagsterInstance) -> None:
    followed = Followed(instance, (*FEATURES, derived("other", "raw.other")), [release("features.training")])
    followed.look()
    followed.write(*followed.raw)
    followed.follow()
    followed.failing.add("raw.other")
    followed.write("raw.other", "raw.weather")
    assert followed.follow() == [{*ALL, POINTER}]


def test_a_member_that_is_computed_in_a_run_of_its_own_is_waited_for(instance: dg.DagsterInstance) -> None:
    monthly = derived(
        "monthly", "raw.a", partitions=ByMonth(column="day", start=date(2020, 1, 1), end=date(2020, 3, 1))
    )
    followed = Followed(instance, (monthly, derived("whole", "raw.a")), [release("features.monthly", "features.whole")])
    followed.look()
    for _ in range(2):
        followed.write("raw.a")
        assert sorted(map(sorted, followed.look())) == [["features.monthly"], ["features.whole"]]
        followed.write("features.whole")
        with followed.running("features.monthly"):
            assert followed.look() == [], "half of the members are new"
        followed.write("features.monthly", partitions=("2020-01-01", "2020-02-01"))
        assert followed.follow() == [{POINTER}]
        assert followed.look() == []
