"""A mirror is the fold of its changelog: random histories, each in an order and in ranges of its own."""

import os
from dataclasses import replace
from random import Random

import pyspark.sql.types as T  # noqa: N812
import pytest
from pyspark.sql import SparkSession

from lakehouse.engines.spark import set_for
from lakehouse_tests.steps.cdc.folding import Mirrored, declare
from lakehouse_tests.steps.cdc.histories import NAMES, Traits, draw, low_watermark
from lakehouse_tests.steps.cdc.plain_fold import Fold

pytestmark = pytest.mark.spark
SEED = int(os.environ.get("HISTORIES_SEED", "20261121"))
COLUMNS = {"id": T.LongType(), "part": T.StringType(), "a": T.LongType(), "b": T.LongType(), "c": T.LongType()}

COMPILED = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
}

ALL = {
    "delays": Traits(2500),
    "truncates": Traits(2500, truncates=3, ranges=5),
    "tombstones": Traits(2500, truncates=1, tombstones=True),
    "forgetting": Traits(1500, truncates=1, tombstones=True, lateness=3000),
    "soft": Traits(1000, truncates=2, soft=True, tombstones=True),
}
FEW = {
    "hard": Traits(150, ranges=2),
    "tombstones": Traits(150, truncates=2, tombstones=True, ranges=2),
    "forgetting": Traits(200, truncates=1, tombstones=True, lateness=50, ranges=3),
    "soft": Traits(200, truncates=1, soft=True, tombstones=True, ranges=2),
}


def check(session: SparkSession, traits: Traits, seed: str) -> None:
    """Feed a draw to a mirror and to the plain fold, range by range."""
    print(f"HISTORIES_SEED={SEED}", seed)
    drawn = draw(traits, Random(f"{SEED} {seed}"))
    tables = declare(("id", "part"), COLUMNS, deletes="soft" if traits.soft else "hard", null_keys="equal")
    mirrored, fold, low = Mirrored(session, tables), Fold(NAMES, soft=traits.soft), 0
    for changes in drawn.ranges:
        mirrored.apply(changes, few=False)
        fold.apply(changes, low_watermark=low)
        if traits.lateness is not None:
            low = max(low, low_watermark(changes, traits.lateness))
            fold.forget(low)
            mirrored.forget(low)
        assert mirrored.plain_rows() == fold.rows()
        refused = sorted((row["reason"], row["partition"], row["offset"]) for row in mirrored.refused)
        assert refused == sorted(fold.refused)
        assert mirrored.applied.duplicates == fold.duplicates
    assert {row["reason"] for row in mirrored.refused} <= {"too_late"}
    assert traits.lateness is None or mirrored.refused
    if not traits.tombstones and traits.lateness is None:
        assert _values(fold, alive=True) == drawn.truth  # however it came, it is the source's table


def _values(fold: Fold, *, alive: bool) -> dict[tuple[object, ...], dict[str, object]]:
    return {k: {n: row[n] for n in NAMES} for k, row in fold.rows().items() if not (alive and row["deleted"])}


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ALL)
def test_ten_thousand_histories(spark: SparkSession, name: str) -> None:
    check(spark, ALL[name], name)


@pytest.mark.parametrize(
    "name", ["forgetting", pytest.param("hard", marks=pytest.mark.soak), pytest.param("soft", marks=pytest.mark.soak)]
)
def test_some_histories(spark: SparkSession, name: str) -> None:
    check(spark, FEW[name], name)


@pytest.mark.soak
def test_a_compiled_fold_is_the_same(spark: SparkSession) -> None:
    """A range of many changes is compiled and planned adaptively; all others here are interpreted."""
    with set_for(spark, COMPILED):
        check(spark, FEW["tombstones"], "tombstones")


def test_there_are_ten_thousand() -> None:
    assert sum(traits.keys for traits in ALL.values()) == 10_000


def test_at_once_or_in_ranges_is_the_same() -> None:
    """For the plain fold itself, what it is compared with."""
    for name in ("delays", "truncates"):
        drawn = draw(replace(ALL[name], keys=500), Random(f"{SEED} {name}"))
        whole, many = Fold(NAMES), Fold(NAMES)
        whole.apply([change for changes in drawn.ranges for change in changes])
        for changes in drawn.ranges:
            many.apply(changes)
        assert whole.rows() == many.rows()
        assert _values(whole, alive=True) == drawn.truth
