import json
from datetime import UTC, datetime
from itertools import islice
from zoneinfo import ZoneInfo

import pytest

from lakehouse.demo import BROKEN_FLIGHTS
from lakehouse.demo.flights import FIRST_YEAR, FlightFeed

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def feed() -> FlightFeed:
    return FlightFeed()


@pytest.fixture(scope="module")
def year(feed: FlightFeed) -> list[bytes]:
    return feed.first_year()


@pytest.fixture(scope="module")
def good(year: list[bytes]) -> list[dict[str, object]]:
    broken = {record.value for record in BROKEN_FLIGHTS}
    return [json.loads(value) for value in year if value not in broken]


def departure(flight: dict[str, object]) -> datetime:
    return datetime.fromisoformat(str(flight["time_hour"]))


def test_every_flight_is_there_once_and_the_broken_ones_besides(year: list[bytes], good: list[dict[str, object]]):
    assert len(year) == FIRST_YEAR == 336_776 + len(BROKEN_FLIGHTS)
    assert len({(flight["time_hour"], flight["carrier"], flight["flight"]) for flight in good}) == 336_776
    assert all(year.count(record.value) == 1 for record in BROKEN_FLIGHTS)


def test_a_flight_has_the_fields_of_the_frame_with_integers_as_integers(year: list[bytes]):
    assert year[0] == (
        b'{"year":2013,"month":1,"day":1,"dep_time":517,"sched_dep_time":515,"dep_delay":2,"arr_time":830,'
        b'"sched_arr_time":819,"arr_delay":11,"carrier":"UA","flight":1545,"tailnum":"N14228","origin":"EWR",'
        b'"dest":"IAH","air_time":227,"distance":1400,"hour":5,"minute":15,"time_hour":"2013-01-01T10:00:00Z"}'
    )


def test_what_is_not_known_is_null(good: list[dict[str, object]]):
    assert sum(flight["dep_time"] is None for flight in good) == 8_255
    assert sum(flight["tailnum"] is None for flight in good) == 2_512
    kinds = {type(value) for flight in good for value in flight.values()}
    assert kinds == {int, str, type(None)}


def test_flights_come_in_the_order_of_departure(good: list[dict[str, object]]):
    times = [str(flight["time_hour"]) for flight in good]
    assert times == sorted(times)


def test_time_hour_is_the_local_hour_in_utc(good: list[dict[str, object]]):
    new_york = ZoneInfo("America/New_York")
    for flight in good[::97]:
        local = datetime(*(int(str(flight[part])) for part in ("year", "month", "day", "hour")), tzinfo=new_york)
        assert departure(flight) == local.astimezone(UTC)


def test_later_days_are_the_days_of_2013_under_later_dates(feed: FlightFeed, good: list[dict[str, object]]):
    first = [json.loads(line) for line in feed.day(0)]
    assert {(flight["year"], flight["month"], flight["day"]) for flight in first} == {(2014, 1, 1)}
    assert [flight["flight"] for flight in first] == [flight["flight"] for flight in good[: len(first)]]
    assert json.loads(feed.day(365)[0])["time_hour"] == "2015-01-01T10:00:00Z"


def test_a_later_day_keeps_the_hour_on_the_clock_across_daylight_saving(feed: FlightFeed):
    # 2014 sprang forward on March 9, 2013 on March 10.
    for number, offset in ((66, -5), (67, -4)):
        flight = json.loads(feed.day(number)[0])
        assert (flight["month"], flight["day"]) == (3, number - 58)
        assert departure(flight).hour == flight["hour"] - offset


def test_ends_count_the_messages(feed: FlightFeed):
    assert list(islice(feed.ends(), 3)) == [
        FIRST_YEAR,
        FIRST_YEAR + len(feed.day(0)),
        FIRST_YEAR + len(feed.day(0)) + len(feed.day(1)),
    ]
