"""The two tables of numbers on both catalogs, without Kafka and Spark."""

from collections.abc import Callable

import pytest

from lakehouse.acceptance.scratch import NUMBERS, Scratch
from lakehouse.declarations import apply, plan
from lakehouse.settings import KafkaSettings, Settings
from lakehouse_tests.fixtures.lakes import Lake

MakePlace = Callable[[Lake], Scratch]


@pytest.fixture
def make_place(spark_settings: Settings) -> MakePlace:
    """A place on a catalog, with the variables by which another process finds it."""

    def make(lake: Lake, kafka: KafkaSettings | None = None) -> Scratch:
        settings = spark_settings.model_copy(update={"catalog": lake.settings, "kafka": kafka or spark_settings.kafka})
        return Scratch(settings, lake.namespace, 60, lambda _: None, environ_of(lake, settings))

    return make


def environ_of(lake: Lake, settings: Settings) -> dict[str, str]:
    """Variables by which another process has the same catalog."""
    return {
        "LAKEHOUSE_CATALOG": "rest" if lake.rest else "local",
        "LAKEHOUSE__CATALOG__URI": lake.settings.address,
        "LAKEHOUSE__CATALOG__WAREHOUSE": lake.settings.warehouse,
        "LAKEHOUSE_HOME": str(settings.state.root),
    }


@pytest.fixture
def numbers(lake: Lake, make_place: MakePlace) -> Scratch:
    """A place with the two tables of numbers alone."""
    place = make_place(lake)
    for short in NUMBERS:
        apply(plan(place.declarations.tables[place.name(short)], place.catalog), place.catalog)
    return place
