"""Which derived tables are refreshed together."""

import dagster as dg
import pytest

from lakehouse.orchestration.automation.refresh_groups import group_of
from lakehouse_tests.orchestration.automation.followed import Followed, derived
from lakehouse_tests.orchestration.automation.test_derived_conditions import by_month

pytestmark = pytest.mark.slow


def test_a_partitioned_table_is_computed_whole_and_what_comes_after_it_waits(instance: dg.DagsterInstance) -> None:
    monthly = by_month("monthly", "raw.a")
    followed = Followed(instance, (monthly, derived("whole", "raw.a", "features.monthly")))
    assert group_of(monthly, followed.declarations).tables == ("features.monthly",), "a run has partitions of one kind"
    followed.look()
    for _ in range(2):
        followed.write("raw.a")
        assert followed.follow() == [{"features.monthly"}]
        assert followed.partitions == [("2020-01-01", "2020-02-01", "2020-03-01")]
        assert followed.follow() == [{"features.whole"}]
        assert followed.look() == []
