import pytest

from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.spark import SparkOn
from lakehouse_tests.steps.derived.workshop import Workshop, make_workshop, no_spark


@pytest.fixture
def workshop(sql_lake: Lake, spark_on: SparkOn) -> Workshop:
    """Two raw tables with rows, on the embedded catalog."""
    return make_workshop(sql_lake, spark_on)


@pytest.fixture
def office(lake: Lake) -> Workshop:
    """The same on both catalogs, for what needs no Spark."""
    return make_workshop(lake, no_spark)
