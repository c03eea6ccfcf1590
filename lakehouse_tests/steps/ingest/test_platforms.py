"""The same ingest on classic Spark and on Spark Connect: same rows, same quarantine, same proof."""

from dataclasses import replace
from typing import Any

import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse.engines.spark import spark_session
from lakehouse.settings import Settings
from lakehouse_tests.fixtures.spark import SparkOn
from lakehouse_tests.steps.ingest.conftest import BY_KIND, THINGS, MakeLanding, thing

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

COLUMNS = {**THINGS, "at": T.TimestampType(), "tags": T.ArrayType(T.StringType())}


@pytest.fixture
def on_platform(request: pytest.FixtureRequest) -> SparkOn:
    """Sessions of one platform, with the test's catalog."""
    settings: Settings = request.getfixturevalue(request.param)
    return lambda catalog: spark_session(settings.model_copy(update={"catalog": catalog}), app_name="platforms")


WORKERS_FILES: dict[str, Any] = {}
SPARKS_FILES: dict[str, Any] = {"sort_order": ("id desc",)}


@pytest.mark.parametrize(
    ("on_platform", "table"),
    [
        pytest.param("spark_settings", SPARKS_FILES, id="classic-Spark's files"),
        pytest.param("connect_settings", WORKERS_FILES, id="Connect-workers' files"),
        pytest.param("spark_settings", WORKERS_FILES, id="classic-workers' files", marks=pytest.mark.soak),
        pytest.param("connect_settings", SPARKS_FILES, id="Connect-Spark's files", marks=pytest.mark.soak),
    ],
    indirect=["on_platform"],
)
def test_an_ingest_lands_the_same_on_classic_and_on_connect(
    landing: MakeLanding, on_platform: SparkOn, table: dict[str, Any]
) -> None:
    stream = replace(landing(partitions=2, columns=COLUMNS, route=BY_KIND, table=table), spark_on=on_platform)
    for partition in (0, 1):
        good = [thing(n, kind="ab"[n % 2], at="2013-05-01T00:00:00Z", tags=[str(n)]) for n in range(40)]
        stream.send([*good, b"broken", None, thing(99, kind="z")], partition=partition)
    stream.ingest(min_partitions=4)
    for kind, remainder in (("a", 0), ("b", 1)):
        assert sorted(stream.column(f"raw.{kind}", "id")) == sorted([n for n in range(40) if n % 2 == remainder] * 2)
    assert stream.quarantined() == [(40, "not_json"), (41, "tombstone"), (42, "unknown_route")] * 2
    assert stream.holds().read == 86
    assert stream.ingest().published is None
