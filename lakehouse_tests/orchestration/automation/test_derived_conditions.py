"""Derived tables are asked for together when something they are computed from has news, and only then."""

from datetime import date

import dagster as dg
import pytest

from lakehouse.declarations import ByMonth, ByValue, Derived
from lakehouse_tests.orchestration.automation.followed import ALL, FEATURES, Followed, derived

pytestmark = pytest.mark.slow


@pytest.fixture
def features(instance: dg.DagsterInstance) -> Followed:
    """Five tables on three, all of them computed once."""
    followed = Followed(instance, FEATURES)
    followed.look()
    followed.write(*followed.raw)
    assert followed.follow() == [ALL]
    assert followed.look() == []
    return followed


def test_tables_that_were_never_computed_wait_until_their_inputs_are_there(instance: dg.DagsterInstance) -> None:
    followed = Followed(instance, FEATURES)
    assert followed.look() == []
    followed.write("raw.flights", "raw.weather")
    assert followed.follow() == [{"features.delays", "features.weather", "features.joined"}]
    followed.write("raw.planes")
    assert followed.follow() == [ALL], "what was computed without them would not agree with what is computed now"
    assert followed.look() == []


def test_news_on_one_input_asks_for_the_whole_group_in_one_run_once(features: Followed) -> None:
    features.write("raw.planes")
    assert features.follow() == [ALL]
    assert features.look() == []
    assert features.look() == []


def test_news_that_comes_while_the_group_is_computed_is_kept_until_the_run_has_ended(features: Followed) -> None:
    features.write("raw.planes")
    assert features.look() == [ALL]
    with features.running(*ALL):
        features.write("raw.weather")
        assert features.look() == []
        assert features.look() == []
    assert features.follow() == [ALL]
    assert features.look() == []


def test_news_right_after_a_request_is_not_lost_with_it(features: Followed) -> None:
    features.write("raw.planes")
    assert features.look() == [ALL]
    features.write("raw.weather")
    assert features.look() == [ALL]
    assert features.look() == []


def test_a_run_that_computed_inputs_and_group_together_leaves_nothing_to_ask_for(features: Followed) -> None:
    features.write(*features.raw, *ALL)
    assert features.look() == []


def test_a_failed_blocking_check_holds_back_what_is_computed_from_that_table_and_nothing_else(
    features: Followed,
) -> None:
    features.failing.add("raw.weather")
    features.write("raw.weather")
    assert features.follow() == [{"features.delays", "features.fleet"}]
    features.write("raw.flights")
    assert features.follow() == [{"features.delays", "features.fleet"}]
    assert features.look() == []
    features.failing.clear()
    features.write("raw.weather")
    assert features.follow() == [ALL], "all of it, or the parts would not agree"
    assert features.look() == []


def test_while_an_input_is_being_judged_the_group_waits_for_the_verdict(features: Followed) -> None:
    with features.running("raw.weather"):
        features.write("raw.flights")
        assert features.look() == [], "the run of raw.weather has its check still before it"
    assert features.follow() == [ALL]


def test_a_check_that_passes_when_it_is_asked_again_lets_the_group_go(features: Followed) -> None:
    features.failing.add("raw.weather")
    features.write("raw.weather")
    features.follow()
    features.failing.clear()
    job = features.defs.resolve_implicit_global_asset_job_def()
    check = dg.AssetCheckKey(dg.AssetKey(["raw", "weather"]), "holds")
    chosen = job.get_subset(asset_selection=set(), asset_check_selection={check})
    assert chosen.execute_in_process(instance=features.instance).success
    assert features.follow() == [ALL]
    assert features.look() == []


def test_a_blocking_check_within_the_group_stops_what_comes_after_in_the_same_run(features: Followed) -> None:
    features.failing.add("features.weather")
    features.made.clear()
    features.write("raw.flights")
    assert features.follow() == [ALL]
    assert set(features.made) == {"raw.flights", "features.delays", "features.weather", "features.fleet"}
    features.failing.clear()
    features.made.clear()
    features.write("raw.weather")
    assert features.follow() == [ALL], "it is computed again, so what its check said before keeps nobody"
    assert set(features.made) == {"raw.weather", *ALL}


def test_a_run_that_failed_is_not_tried_again_without_news(features: Followed) -> None:
    features.broken.add("features.joined")
    features.write("raw.weather")
    assert features.follow() == [ALL]
    assert features.look() == []
    features.broken.clear()
    features.write("raw.weather")
    assert features.follow() == [ALL]


def test_tables_without_a_common_input_are_asked_for_by_themselves(instance: dg.DagsterInstance) -> None:
    followed = Followed(instance, (derived("one", "raw.a"), derived("other", "raw.b")))
    followed.look()
    followed.write("raw.a", "raw.b")
    followed.follow()
    followed.write("raw.a")
    assert followed.follow() == [{"features.one"}]


def test_what_dagster_hears_late_is_news_as_well(features: Followed) -> None:
    features.instance.report_runless_asset_event(dg.AssetMaterialization(["raw", "flights"]))
    assert features.follow() == [ALL]


def by_month(name: str, *inputs: str) -> Derived:
    """A table of three months."""
    return derived(name, *inputs, partitions=ByMonth(column="day", start=date(2020, 1, 1), end=date(2020, 4, 1)))


def test_partitions_of_a_table_are_all_missing_or_computed_by_value(instance: dg.DagsterInstance) -> None:
    by_value = derived("parts", "raw.a", partitions=ByValue(column="part", values=("x", "y")))
    followed = Followed(instance, (by_value,))
    followed.look()
    followed.write("raw.a")
    assert followed.look() == [{"features.parts"}]
    assert followed.partitions == [("x", "y")]


def test_tables_before_and_after_a_partitioned_one_come_one_after_the_other_and_to_rest(
    instance: dg.DagsterInstance,
) -> None:
    chain = (
        derived("first", "raw.a"),
        by_month("monthly", "features.first"),
        derived("last", "features.monthly", "raw.a"),
    )
    followed = Followed(instance, chain)
    followed.look()
    for _ in range(2):
        followed.write("raw.a")
        asked = [followed.follow() for _ in range(5)]
        assert [run for runs in asked for run in runs] == [{"features.first"}, {"features.monthly"}, {"features.last"}]
        assert asked[-1] == []
