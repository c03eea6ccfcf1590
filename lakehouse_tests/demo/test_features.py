"""The demo's feature tables, each computed from frames of a few rows: no lake, no catalog, no run."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from lakehouse.declarations import Declarations, Derived, load_declarations, spark_schema
from lakehouse_tests.fixtures.demo_declarations import demo_declarations

pytestmark = pytest.mark.spark
HOUR = datetime(2013, 2, 5, 12, tzinfo=UTC)
PARAMETERS = {"min_flights": 2, "late_after_minutes": 15, "long_haul_miles": 1000}
# What a row is where a test does not care.
PLAIN: dict[str, Any] = {
    "year": 2013,
    "month": 2,
    "day": 5,
    "hour": 7,
    "minute": 30,
    "dep_time": 730,
    "arr_delay": 0,
    "carrier": "UA",
    "flight": 1,
    "tailnum": "N1",
    "origin": "EWR",
    "dest": "IAH",
    "distance": 1400,
    "time_hour": HOUR,
}
Frame = Callable[..., DataFrame]


@cache
def declared() -> Declarations:
    return load_declarations([demo_declarations()])


def feature(name: str) -> Derived:
    return declared().derived[f"features.{name}"]


@pytest.fixture
def frame(spark: SparkSession) -> Frame:
    """`frame("raw.flights", {…}, …)`: rows of a declared table; what is not given is plain, or null."""

    def made(name: str, *rows: dict[str, Any]) -> DataFrame:
        schema = spark_schema(declared().tables[name])
        for field in schema:
            field.nullable = True
        plain = PLAIN if name == "raw.flights" else {}
        return spark.createDataFrame(
            [tuple({**plain, **row}.get(field.name) for field in schema) for row in rows], schema
        )

    return made


def computed(name: str, frames: dict[str, DataFrame], *key: str) -> dict[Any, Row]:
    """Rows by key, after the columns were compared with the declared ones."""
    derivation = feature(name)
    asked = {"parameters": PARAMETERS} if "parameters" in derivation.asks_for else {}
    frame = in_sql(derivation, frames) if isinstance(derivation.compute, str) else derivation(**frames, **asked)
    types = {column.name: column.type for column in derivation.table.columns if column.name != "runtime_date"}
    assert {field.name: field.dataType for field in frame.schema} == types
    rows = frame.collect()
    keys = [row[key[0]] if len(key) == 1 else tuple(row[part] for part in key) for row in rows]
    assert len(set(keys)) == len(keys)
    return dict(zip(keys, rows, strict=True))


def in_sql(derivation: Derived, frames: dict[str, DataFrame]) -> DataFrame:
    session = next(iter(frames.values())).sparkSession
    for argument, content in frames.items():
        content.createOrReplaceTempView(argument)
    return session.sql(str(derivation.compute), args=PARAMETERS)


def test_weather_is_known_when_its_hour_is_over(frame: Frame) -> None:
    observed = {"origin": "EWR", "temp": 40.0, "precip": 0.1, "visib": 2.9, "wind_speed": 12.5}
    by_airport = computed(
        "hourly_weather",
        {"weather": frame("raw.weather", {**observed, "time_hour": HOUR}, {**observed, "origin": "JFK", "visib": 3.0})},
        "origin",
    )
    assert by_airport["EWR"]["known_from"] - by_airport["EWR"]["time_hour"] == timedelta(hours=1)
    assert (by_airport["EWR"]["low_visibility"], by_airport["JFK"]["low_visibility"]) == (True, False)
    assert by_airport["EWR"]["precip"] == Decimal("0.10")


def test_a_wind_that_never_blows_is_unknown_and_the_rest_of_the_hour_stays(frame: Frame) -> None:
    observed = {"time_hour": HOUR, "temp": 27.0, "precip": 0.0, "visib": 10.0}
    rows = [
        {**observed, "origin": "EWR", "wind_speed": 1048.36},
        {**observed, "origin": "JFK", "wind_speed": 250.0},
        {**observed, "origin": "LGA", "wind_speed": None},
    ]
    by_airport = computed("hourly_weather", {"weather": frame("raw.weather", *rows)}, "origin")
    assert [by_airport[airport]["wind_speed"] for airport in ("EWR", "JFK", "LGA")] == [None, 250.0, None]
    assert by_airport["EWR"]["temp"] == 27.0


def test_an_airports_load_is_its_schedule_cancelled_flights_among_it(frame: Frame) -> None:
    flights = frame(
        "raw.flights",
        {"dep_time": None},
        {"carrier": "DL", "flight": 2, "distance": 1000},
        {"carrier": "DL", "flight": 3, "distance": 999},
        {"origin": "JFK"},
    )
    by_airport = computed("airport_load", {"flights": flights}, "origin")
    assert by_airport["EWR"].asDict().items() >= {"departures": 3, "carriers": 2, "long_haul": 2}.items()
    assert by_airport["JFK"]["departures"] == 1


def test_a_routes_day_counts_late_cancelled_and_diverted_flights_apart(frame: Frame) -> None:
    flights = frame(
        "raw.flights",
        {"arr_delay": 16},
        {"arr_delay": 15},
        {"arr_delay": -30},
        {"arr_delay": None},  # it departed, and arrived elsewhere
        {"arr_delay": None, "dep_time": None},
        {"arr_delay": None, "dep_time": None, "day": 6},
    )
    by_day = computed("route_days", {"flights": flights}, "day")
    first, second = by_day[date(2013, 2, 5)], by_day[date(2013, 2, 6)]
    counts = ("flights", "cancelled", "arrived", "late", "delay_minutes", "worst_delay")
    assert tuple(first[name] for name in counts) == (5, 1, 3, 1, 1, 16)
    assert first["mean_delay"] == pytest.approx(1 / 3)
    assert tuple(second[name] for name in counts) == (1, 1, 0, 0, 0, None)
    assert second["mean_delay"] is None


def test_history_ends_two_days_before_and_begins_four_weeks_earlier(frame: Frame) -> None:
    today = date(2013, 3, 5)

    def day(before: int, flights: int, delay: int) -> list[dict[str, Any]]:
        when = today - timedelta(days=before)
        return [{"month": when.month, "day": when.day, "flight": n, "arr_delay": delay} for n in range(flights)]

    flights = [*day(0, 7, 99), *day(1, 6, 99), *day(2, 1, 16), *day(29, 3, 8), *day(30, 9, 99)]
    by_day = computed("route_history", {"flights": frame("raw.flights", *flights)}, "day")
    assert by_day[today]["flights"] == 4
    assert by_day[today]["late_share"] == 0.25
    assert by_day[today]["mean_delay"] == 10.0


def test_a_route_that_was_hardly_flown_or_never_arrived_says_nothing(frame: Frame) -> None:
    cancelled = {"dep_time": None, "arr_delay": None}
    flights = [
        {"day": 3},
        {"day": 5, **cancelled},
        {"dest": "BOS", "day": 3, "flight": 1, **cancelled},
        {"dest": "BOS", "day": 3, "flight": 2, **cancelled},
        {"dest": "BOS", "day": 5},
    ]
    by_route = computed("route_history", {"flights": frame("raw.flights", *flights)}, "dest", "day")
    assert by_route["IAH", date(2013, 2, 3)]["flights"] == 0
    assert by_route["IAH", date(2013, 2, 5)]["flights"] == 1
    assert by_route["IAH", date(2013, 2, 5)]["late_share"] is None
    never = by_route["BOS", date(2013, 2, 5)]
    assert (never["flights"], never["late_share"], never["cancelled_share"]) == (2, None, 1.0)


def test_a_fleet_counts_each_plane_once_a_month_known_or_not(frame: Frame) -> None:
    flights = frame(
        "raw.flights",
        {"tailnum": "N1"},
        {"tailnum": "N1", "day": 6},
        {"tailnum": "N1", "month": 3},
        {"tailnum": "N2"},
        {"tailnum": "N3"},
        {"tailnum": "NOBODY"},
        {"tailnum": None},
        {"carrier": "AA", "tailnum": "NOBODY"},
    )
    planes = frame(
        "raw.planes",
        {"tailnum": "N1", "year": 2003, "seats": 100},
        {"tailnum": "N2", "year": 2013, "seats": 200},
        {"tailnum": "N3", "year": None, "seats": 300},
    )
    by_carrier = computed("carrier_fleet", {"flights": flights, "planes": planes}, "carrier", "month")
    february = by_carrier["UA", date(2013, 2, 1)]
    assert tuple(february)[2:] == (4, 3, 5.0, 200.0)
    assert tuple(by_carrier["UA", date(2013, 3, 1)])[2:] == (1, 1, 10.0, 100.0)
    assert tuple(by_carrier["AA", date(2013, 2, 1)])[2:] == (1, 0, None, None)


@pytest.fixture
def known(frame: Frame) -> dict[str, DataFrame]:
    """What was known of one route, one airport and one carrier; next to it, what was known too late."""
    weather = {"origin": "EWR", "precip": Decimal("0.00"), "low_visibility": False}
    load = {"origin": "EWR", "time_hour": HOUR, "departures": 20, "carriers": 5, "long_haul": 7}
    day = {"origin": "EWR", "dest": "IAH", "flights": 4, "mean_delay": 3.0, "late_share": 0.5, "cancelled_share": 0.0}
    fleet = {"carrier": "UA", "known": 1}
    return {
        "weather": frame(
            "features.hourly_weather",
            {**weather, "known_from": HOUR, "time_hour": HOUR - timedelta(hours=1), "temp": 30.0},
            {**weather, "known_from": HOUR + timedelta(hours=1), "time_hour": HOUR, "temp": 99.0},
        ),
        "load": frame("features.airport_load", load),
        "history": frame("features.route_history", {**day, "day": date(2013, 2, 5)}),
        "fleet": frame(
            "features.carrier_fleet",
            {**fleet, "month": date(2013, 1, 1), "planes": 12, "mean_age": 9.5},
            {**fleet, "month": date(2013, 2, 1), "planes": 99, "mean_age": 99.0},
        ),
    }


def test_a_flight_is_trained_on_what_was_known_before_it(frame: Frame, known: dict[str, DataFrame]) -> None:
    rows = computed("training", {"flights": frame("raw.flights", {"arr_delay": 16}), **known}, "flight")
    expected = {
        "day": date(2013, 2, 5),
        "weekday": 1,
        "minute_of_day": 450,
        "temp": 30.0,
        "departures": 20,
        "route_flights": 4,
        "route_late": 0.5,
        "fleet_planes": 12,
        "fleet_age": 9.5,
        "cancelled": False,
        "arr_delay": 16,
        "late": True,
    }
    assert rows[1].asDict().items() >= expected.items()


def test_every_flight_is_one_row_whatever_was_known(frame: Frame, known: dict[str, DataFrame]) -> None:
    flights = frame(
        "raw.flights",
        {"flight": 1},
        {"flight": 2, "dep_time": None, "arr_delay": None},
        {"flight": 3, "origin": "LGA", "dest": "XNA", "carrier": "MQ"},
    )
    rows = computed("training", {"flights": flights, **known}, "flight")
    assert rows.keys() == {1, 2, 3}
    assert (rows[2]["cancelled"], rows[2]["late"]) == (True, None)
    assert (rows[3]["temp"], rows[3]["route_late"], rows[3]["fleet_planes"]) == (None, None, None)


def test_no_feature_changes_with_the_outcome(frame: Frame, known: dict[str, DataFrame]) -> None:
    outcomes = [{"arr_delay": 200}, {"arr_delay": -5}, {"arr_delay": None, "dep_time": None, "tailnum": None}]
    features = [column.name for column in feature("training").table.columns if column.doc.startswith("Feature")]
    rows = [
        computed("training", {"flights": frame("raw.flights", outcome), **known}, "flight")[1] for outcome in outcomes
    ]
    assert len({tuple(row[name] for name in features) for row in rows}) == 1


def test_the_release_holds_every_feature_table_and_nothing_else() -> None:
    release = declared().releases["analytics"]
    assert set(release.members) == declared().derived.keys()
    assert len(release.members) == 6
    assert all(column.doc for name in release.members for column in declared().tables[name].columns)
