"""What a frame is traced to, on classic Spark and on Spark Connect: tables, snapshots and columns; in doubt nothing."""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812

from lakehouse.engines.spark import spark_session
from lakehouse.proofs.lineage.spark_plan.ranges import marked
from lakehouse.proofs.lineage.spark_plan.trace import CannotTrace, Trace, trace
from lakehouse.settings import Settings

pytestmark = pytest.mark.spark
_numbers = itertools.count()


@dataclass
class Lake:
    """Three tables: `trips` (of two commits), `places`, and one whose name and column need quotes."""

    spark: SparkSession
    space: str
    folder: Path
    snapshots: dict[str, int]
    first: int

    def read(self, name: str, snapshot_id: int | None = None) -> DataFrame:
        """A table at a snapshot, its newest if none is named."""
        version = snapshot_id or self.snapshots[name]
        return self.spark.sql(f"SELECT * FROM lake.{self.space}.{name} VERSION AS OF {version}")

    def view(self, *names: str) -> None:
        """Make tables known to SQL texts by their bare names."""
        for name in names:
            self.read(name).createOrReplaceTempView(name)

    def name(self, name: str) -> str:
        """Of a table, by name alone."""
        return f"lake.{self.space}.{name}"


@pytest.fixture(scope="module", params=["classic", "connect"])
def lake(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    if request.param == "classic":
        request.getfixturevalue("spark")
    settings: Settings = request.getfixturevalue(
        {"classic": "spark_settings", "connect": "connect_settings"}[request.param]
    )
    space = f"trace{next(_numbers)}"
    with spark_session(settings, app_name="trace") as spark:
        spark.sql(f"CREATE NAMESPACE lake.{space}")
        spark.sql(f"CREATE TABLE lake.{space}.trips (id BIGINT, place STRING, miles DOUBLE, tags ARRAY<STRING>)")
        spark.sql(f"CREATE TABLE lake.{space}.places (place STRING, `zone, old#1` STRING)")
        spark.sql(f"CREATE TABLE lake.{space}.`odd.name-d` (id BIGINT)")
        spark.sql(f"INSERT INTO lake.{space}.places VALUES ('x', 'z')")
        firsts = []
        for number in range(2):
            spark.sql(f"INSERT INTO lake.{space}.trips VALUES ({number}, 'x', 2.0, array('q'))")
            firsts.append(_newest(spark, f"lake.{space}.trips"))
        snapshots = {name: _newest(spark, f"lake.{space}.{name}") for name in ("trips", "places")}
        yield Lake(spark, space, tmp_path_factory.mktemp("files"), snapshots, firsts[0])


def _newest(spark: SparkSession, name: str) -> int:
    rows = spark.sql(f"SELECT snapshot_id FROM {name}.snapshots ORDER BY committed_at DESC LIMIT 1").collect()
    return int(rows[0][0])


TRIPS, PLACES = "trips", "places"
Make = Callable[[Lake], DataFrame]


def _sql(text: str, *views: str) -> Make:
    def make(lake: Lake) -> DataFrame:
        lake.view(*views)
        return lake.spark.sql(text)

    return make


def _window(lake: Lake) -> DataFrame:
    by_place = Window.partitionBy("place").orderBy("miles")
    return lake.read(TRIPS).select("id", F.row_number().over(by_place).alias("rank"))


def _cached(lake: Lake) -> DataFrame:
    doubled = lake.read(TRIPS).select("id", (F.col("miles") * 2).alias("double")).cache()
    doubled.count()
    return doubled.groupBy("id").agg(F.sum("double").alias("total"))


# What is computed → the tables that it reads, and column → columns of which table it comes from. A column that is not
# named here must not be traced.
CASES: dict[str, tuple[Make, set[str], dict[str, set[tuple[str, str]]]]] = {
    "a table": (
        lambda lake: lake.read(TRIPS).select("id", F.col("MILES").alias("m")),
        {TRIPS},
        {"id": {(TRIPS, "id")}, "m": {(TRIPS, "miles")}},
    ),
    "self join": (
        lambda lake: (
            lake.read(TRIPS)
            .alias("l")
            .join(lake.read(TRIPS).alias("r"), F.col("l.id") == F.col("r.id"))
            .selectExpr("l.id", "r.miles - l.miles AS more")
        ),
        {TRIPS},
        {"id": {(TRIPS, "id")}, "more": {(TRIPS, "miles")}},
    ),
    "join": (
        lambda lake: lake.read(TRIPS).join(lake.read(PLACES).select("place"), "place", "left").select("place", "id"),
        {TRIPS, PLACES},
        # `odd#1` makes all of `places` unsure, but what the left side gives is known
        {"place": {(TRIPS, "place")}, "id": {(TRIPS, "id")}},
    ),
    "semi join": (
        lambda lake: lake.read(TRIPS).join(lake.read(PLACES), "place", "left_semi").select("id"),
        {TRIPS, PLACES},
        {"id": {(TRIPS, "id")}},
    ),
    "union of one table in two ways": (
        lambda lake: (
            lake.read(TRIPS).selectExpr("id", "miles AS x").union(lake.read(TRIPS).selectExpr("id + 1", "place"))
        ),
        {TRIPS},
        {"id": {(TRIPS, "id")}, "x": {(TRIPS, "miles"), (TRIPS, "place")}},
    ),
    "union with unsure columns": (
        lambda lake: lake.read(TRIPS).select("place").union(lake.read(PLACES).select("place")),
        {TRIPS, PLACES},
        {},
    ),
    "window": (_window, {TRIPS}, {"id": {(TRIPS, "id")}, "rank": {(TRIPS, "place"), (TRIPS, "miles")}}),
    "explode": (
        lambda lake: lake.read(TRIPS).select("id", F.explode("tags").alias("tag")),
        {TRIPS},
        {"id": {(TRIPS, "id")}, "tag": {(TRIPS, "tags")}},
    ),
    "aggregate": (
        lambda lake: (
            lake.read(TRIPS)
            .groupBy("place")
            .agg(F.sum("miles"), F.count("*").alias("n"))
            .withColumnRenamed("sum(miles)", "total")
        ),
        {TRIPS},
        {"place": {(TRIPS, "place")}, "total": {(TRIPS, "miles")}, "n": set()},
    ),
    "rollup": (
        lambda lake: lake.read(TRIPS).rollup("place").agg(F.max("id").alias("last")),
        {TRIPS},
        {"place": {(TRIPS, "place")}, "last": {(TRIPS, "id")}},
    ),
    "common table expression": (
        _sql(
            "WITH sums AS (SELECT place, sum(miles) AS total FROM trips GROUP BY place), again AS (SELECT * FROM sums) "
            "SELECT sums.place, again.total / sums.total AS share FROM sums JOIN again USING (place)",
            TRIPS,
        ),
        {TRIPS},
        {"place": {(TRIPS, "place")}, "share": {(TRIPS, "miles")}},
    ),
    "recursive query": (
        _sql(
            "WITH RECURSIVE days(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM days WHERE n < 3) "
            "SELECT trips.id FROM trips CROSS JOIN days",
            TRIPS,
        ),
        {TRIPS},
        {"id": {(TRIPS, "id")}},
    ),
    "subquery": (
        _sql(
            "SELECT id, (SELECT max(miles) FROM trips) AS longest FROM trips "
            "WHERE place IN (SELECT place FROM places) AND EXISTS (SELECT 1 FROM places p WHERE p.place = trips.place)",
            TRIPS,
            PLACES,
        ),
        {TRIPS, PLACES},
        {"id": {(TRIPS, "id")}, "longest": {(TRIPS, "miles")}},
    ),
    "correlated subquery": (
        _sql("SELECT id, (SELECT max(t.miles) FROM trips t WHERE t.place = trips.place) AS longest FROM trips", TRIPS),
        {TRIPS},
        {"id": {(TRIPS, "id")}, "longest": {(TRIPS, "miles")}},
    ),
    "cache": (_cached, {TRIPS}, {"id": {(TRIPS, "id")}, "total": {(TRIPS, "miles")}}),
    "struct": (
        lambda lake: (
            lake.read(TRIPS)
            .select(F.struct("id", "place").alias("s"), F.struct("miles").alias("m"))
            .select("s", "s.id", "m.miles")
        ),
        {TRIPS},
        {"s": {(TRIPS, "id"), (TRIPS, "place")}, "miles": {(TRIPS, "miles")}},
    ),
    "function in Python": (
        lambda lake: lake.read(TRIPS).select("id", F.udf(lambda place: place, "string")("place").alias("same")),
        {TRIPS},
        {"id": {(TRIPS, "id")}, "same": {(TRIPS, "place")}},
    ),
    "batches in Python": (lambda lake: lake.read(TRIPS).mapInArrow(lambda batches: batches, "id long"), {TRIPS}, {}),
    "constants that look like columns": (
        lambda lake: lake.read(TRIPS).select(
            F.lit("a, id#1").alias("text"), F.lit("two\nlines").alias("lines"), F.lit(1).alias("one"), "id"
        ),
        {TRIPS},
        {"lines": set(), "one": set(), "id": {(TRIPS, "id")}},
    ),
    "brackets in a constant": (
        lambda lake: lake.read(TRIPS).select(F.concat(F.lit("(["), "place").alias("text"), "id"),
        {TRIPS},
        {},
    ),
    "beside rows of no table": (
        lambda lake: lake.read(TRIPS).select("miles").crossJoin(lake.spark.range(3).withColumnRenamed("id", "day")),
        {TRIPS},
        {"miles": {(TRIPS, "miles")}},
    ),
    "left out by the optimizer": (
        lambda lake: lake.read(TRIPS).where("false").select("id"),
        {TRIPS},
        {"id": {(TRIPS, "id")}},
    ),
    "two columns of one name": (
        lambda lake: lake.read(TRIPS).select("id", F.col("miles").alias("id"), "place"),
        {TRIPS},
        {"place": {(TRIPS, "place")}},
    ),
    "the file a row is in": (lambda lake: lake.read(TRIPS).select("id", "_file"), {TRIPS}, {"id": {(TRIPS, "id")}}),
}


@pytest.mark.parametrize("case", CASES)
def test_tables_snapshots_and_columns(lake: Lake, case: str) -> None:
    make, tables, columns = CASES[case]
    traced = trace(make(lake))
    assert traced.scanned == {f"{lake.space}.{name}": lake.snapshots[name] for name in tables}
    assert {
        column: {(table.removeprefix(f"{lake.space}."), name) for table, name in sources}
        for column, sources in traced.columns.items()
    } == columns


def _grown(lake: Lake) -> DataFrame:
    """The trips of the second commit, as a step reads what is new."""
    options = {"start-snapshot-id": str(lake.first), "end-snapshot-id": str(lake.snapshots[TRIPS])}
    return lake.spark.read.options(**options).table(lake.name(TRIPS))


NAMELESS: dict[str, Callable[[Lake], DataFrame]] = {
    "by name": lambda lake: lake.spark.table(lake.name(TRIPS)),
    "by name beside a snapshot": lambda lake: lake.read(TRIPS).unionAll(lake.spark.table(lake.name(TRIPS))),
    "two snapshots": lambda lake: lake.read(TRIPS).unionAll(lake.read(TRIPS, lake.first)),
    "by time": lambda lake: lake.spark.sql(f"SELECT * FROM {lake.name(TRIPS)} TIMESTAMP AS OF '2999-01-01'"),
    "a table about it": lambda lake: lake.spark.table(f"{lake.name(TRIPS)}.files").select("file_path"),
    "a range that the function chose": _grown,
    "by format": lambda lake: lake.spark.read.format("iceberg").load(lake.name(TRIPS)),
}


@pytest.mark.parametrize("how", NAMELESS)
def test_a_read_that_names_no_one_snapshot_is_seen_and_has_none(lake: Lake, how: str) -> None:
    assert trace(NAMELESS[how](lake)).scanned == {f"{lake.space}.trips": None}


def test_branches_and_tags_are_the_table_without_a_snapshot(lake: Lake) -> None:
    lake.spark.sql(f"ALTER TABLE {lake.name(TRIPS)} CREATE OR REPLACE BRANCH side")
    lake.spark.sql(f"ALTER TABLE {lake.name(TRIPS)} CREATE OR REPLACE TAG kept")
    expected = {f"{lake.space}.trips": None}
    assert trace(lake.spark.table(f"{lake.name(TRIPS)}.branch_side")).scanned == expected
    assert trace(lake.spark.sql(f"SELECT * FROM {lake.name(TRIPS)} VERSION AS OF 'kept'")).scanned == expected


def test_other_ways_to_name_a_snapshot(lake: Lake) -> None:
    expected = {f"{lake.space}.trips": lake.first}
    assert trace(lake.spark.table(f"{lake.name(TRIPS)}.snapshot_id_{lake.first}")).scanned == expected
    assert trace(lake.spark.read.option("versionAsOf", str(lake.first)).table(lake.name(TRIPS))).scanned == expected


def _both_halves(rows: DataFrame) -> DataFrame:
    kept = rows.cache()
    return kept.where("id < 1").union(kept.where("id >= 1")).select("id")


@pytest.mark.parametrize(
    "use",
    [
        lambda rows: rows.select("id"),
        lambda rows: rows.join(rows.select("id", "_file"), "id").select("id"),
        lambda rows: rows.selectExpr("count(*) AS id"),
        lambda rows: rows.where("1 = 0").select("id"),
        _both_halves,
    ],
    ids=["selected", "joined with itself", "only counted", "none of its rows", "cached and united"],
)
def test_a_range_of_snapshots_counts_as_its_end_however_it_is_used(
    lake: Lake, use: Callable[[DataFrame], DataFrame]
) -> None:
    rows = use(marked(_grown(lake), lake.snapshots[TRIPS]))
    traced = trace(rows.crossJoin(lake.read(PLACES).select("place")))
    assert traced.scanned == {f"{lake.space}.{name}": lake.snapshots[name] for name in (TRIPS, PLACES)}
    beside = trace(rows.union(lake.spark.table(lake.name(TRIPS)).select("id")))
    assert beside.scanned == {f"{lake.space}.{TRIPS}": None}, "a read by name is not hidden by the range"
    lake.spark.catalog.clearCache()


def test_a_mark_changes_no_row_and_no_column(lake: Lake) -> None:
    rows = marked(_grown(lake), lake.snapshots[TRIPS])
    assert rows.select("trips.id").collect() == [(1,)]
    assert rows.count() == 1
    assert trace(rows.selectExpr("id + 1 AS next")).columns == {"next": ((f"{lake.space}.trips", "id"),)}


def test_names_that_need_quotes(lake: Lake) -> None:
    traced = trace(lake.spark.table(lake.name("`odd.name-d`")))
    assert traced == Trace({f"{lake.space}.odd.name-d": None}, {"id": ((f"{lake.space}.odd.name-d", "id"),)})


def test_sources_outside_the_lake_are_named_for_people(lake: Lake) -> None:
    path = str(lake.folder / f"rows-{lake.space}.parquet")
    lake.read(TRIPS).select("id").write.mode("overwrite").parquet(path)
    assert trace(lake.spark.read.parquet(path)) == Trace({"files (parquet)": None}, {})
    assert trace(lake.spark.sql(f"SELECT id FROM parquet.`{path}`")).scanned == {"files (parquet)": None}
    catalog = str(lake.spark.conf.get("spark.sql.catalog.lake.uri"))

    def jdbc(**what: str) -> DataFrame:
        return lake.spark.read.format("jdbc").options(url=catalog, **what).load()

    assert trace(jdbc(dbtable="iceberg_tables")).scanned == {"jdbc (iceberg_tables)": None}
    secret = jdbc(query="SELECT * FROM iceberg_tables WHERE table_name = 'secret'")
    assert trace(secret).scanned == {"jdbc (a query)": None}


def test_a_wide_table_is_traced_to_its_last_column(lake: Lake) -> None:
    wide = lake.read(TRIPS).select("id", *(F.col("miles").alias(f"m{n}") for n in range(60)))
    assert trace(wide).columns["m59"] == ((f"{lake.space}.trips", "miles"),)


def test_a_trace_leaves_nothing_behind(lake: Lake) -> None:
    settings = ("spark.sql.debug.maxToStringFields", "spark.sql.maxPlanStringLength")
    kept = lake.read(TRIPS).groupBy("place").count().cache()
    kept.count()

    def state() -> object:
        # `catalog.listTables` resolves all views of the session, and was seen unable to decode its own answer.
        views = sorted(row.tableName for row in lake.spark.sql("SHOW TABLES").collect())
        return [lake.spark.conf.get(key) for key in settings], views, kept.storageLevel

    before = state()
    trace(kept)
    assert state() == before
    assert kept.storageLevel.useMemory, "what was cached still is"
    kept.unpersist()


def test_what_spark_cannot_plan_is_no_trace(lake: Lake) -> None:
    newest = str(lake.snapshots[TRIPS])
    nothing: Any = lake.spark.read.option("start-snapshot-id", newest).option("end-snapshot-id", newest)
    with pytest.raises(CannotTrace, match="cannot plan"):
        trace(nothing.table(lake.name(TRIPS)))
