"""The simulated history of the flights: complete, in order, and as disorderly as asked for, never more."""

import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

import msgspec
import polars as pl
import pytest

from lakehouse.demo import Disorder, FlightChanges, flight_changes
from lakehouse.demo.change_history import ARRIVED, CANCELLED, DEPARTED, SCHEDULED, moments
from lakehouse.demo.changes import CANCELLED_FLIGHTS, CHANGE_MESSAGES, CHANGES
from lakehouse.demo.sources import FLIGHTS, NEW_YORK, flights, reference
from lakehouse.engines.kafka import Record
from lakehouse_tests.steps.cdc.messages import recorded

FEW = 3_000
DISORDERS = [
    Disorder(late=0.2, seed=1),
    Disorder(duplicates=0.2),
    Disorder(out_of_order=0.5),
    Disorder(late=0.1, duplicates=0.1, out_of_order=0.1, by=timedelta(hours=30), seed=7),
    Disorder(late=1, duplicates=1, out_of_order=1, by=timedelta(minutes=20)),
]


@pytest.fixture(scope="module", autouse=True)
def read_once(ended: pl.DataFrame) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lakehouse.demo.changes.all_flights", lambda: ended)
        yield


@pytest.fixture(scope="module")
def year() -> pl.DataFrame:
    return FlightChanges().frame


@pytest.fixture(scope="module")
def ended() -> pl.DataFrame:
    return flights()


@pytest.fixture(scope="module")
def times(ended: pl.DataFrame) -> pl.DataFrame:
    return ended.hstack(moments(ended))


def by_partition(records: Iterable[Record]) -> dict[int, list[Record]]:
    parted: dict[int, list[Record]] = defaultdict(list)
    for record in records:
        parted[record.partition].append(record)
    return parted


def position(message: dict) -> tuple[int, int]:
    before, lsn = msgspec.json.decode(message["source"]["sequence"])
    return int(before), int(lsn)


def folded(records: Iterable[Record]) -> dict[bytes, dict]:
    """The rows that are left, by key: of each the change at the greatest position."""
    newest: dict[bytes, tuple[tuple[int, int], dict | None]] = {}
    for value, key, *_ in records:
        if value is not None:
            message = msgspec.json.decode(value)
            if key not in newest or newest[key][0] < position(message):
                newest[key] = position(message), message["after"]
    return {key: row for key, (_, row) in newest.items() if row is not None}


class TestHistory:
    def test_every_flight_is_scheduled_and_then_departs_and_arrives_or_is_deleted(self, year: pl.DataFrame):
        kinds = dict(year.filter(~pl.col("tombstone"))["kind"].value_counts().iter_rows())
        assert kinds == {SCHEDULED: FLIGHTS, DEPARTED: 328_521, ARRIVED: 328_521 - 458, CANCELLED: 8_255}
        assert sum(kinds.values()) == CHANGES
        assert year["tombstone"].sum() == CANCELLED_FLIGHTS
        assert year.height == CHANGE_MESSAGES

    def test_times_and_positions_only_go_up(self, year: pl.DataFrame):
        changes = year.filter(~pl.col("tombstone"))
        assert changes["time"].is_sorted()
        assert (changes["lsn"].diff().drop_nulls() > 0).all()
        assert (changes["last_commit"].diff().drop_nulls() >= 0).all()
        assert changes.filter((pl.col("last_commit") > pl.col("lsn")) | (pl.col("lsn") >= pl.col("commit"))).is_empty()

    def test_a_transaction_has_one_place_in_the_log_and_one_time(self, year: pl.DataFrame):
        changes = year.filter(~pl.col("tombstone"))
        each = changes.group_by("transaction", maintain_order=True).agg(
            pl.col("time", "last_commit", "commit").n_unique(),
            pl.col("commit").first().alias("ends"),
            pl.col("last_commit").first().alias("follows"),
            pl.col("record").max().alias("records"),
            pl.len().alias("changes"),
        )
        assert each.filter((pl.col("time") > 1) | (pl.col("last_commit") > 1) | (pl.col("commit") > 1)).is_empty()
        assert (each["follows"][1:] == each["ends"][:-1]).all()
        assert (each["records"] == each["changes"]).all()
        assert each["changes"].max() > 1

    def test_a_flights_changes_are_in_the_order_of_its_life(self, year: pl.DataFrame):
        lives = year.filter(~pl.col("tombstone")).group_by("flight_row").agg(pl.col("kind"))["kind"].unique()
        assert sorted(lives.to_list()) == [
            [SCHEDULED, DEPARTED],
            [SCHEDULED, DEPARTED, ARRIVED],
            [SCHEDULED, CANCELLED],
        ]


class TestTimes:
    def test_departures_are_when_the_clock_said_so(self, times: pl.DataFrame):
        local = pl.col("departed").dt.convert_time_zone(NEW_YORK)
        read = local.dt.hour().cast(pl.Int64) * 100 + local.dt.minute()
        departed = times.filter(pl.col("dep_time").is_not_null())
        assert departed.filter(read != pl.col("dep_time") % 2400).is_empty()

    def test_arrivals_are_when_the_clock_there_said_so_and_after_the_time_in_the_air(self, times: pl.DataFrame):
        arrived = times.filter(pl.col("arr_time").is_not_null())
        assert arrived["arrived"].null_count() == 0
        ground = (pl.col("arrived") - pl.col("departed")).dt.total_minutes() - pl.col("air_time")
        bounds = arrived.select(ground.min().alias("least"), ground.max().alias("most")).row(0)
        assert bounds == (5, 235)  # an hour wrong in any zone would be less than nothing; a day, more than all
        assert arrived.filter(pl.col("arrived") <= pl.col("departed")).is_empty()
        zones = dict(reference("airports").select("faa", "tzone").iter_rows())
        wrong = 0
        there = arrived.with_columns(zone=pl.col("dest").replace_strict(zones, default="America/Puerto_Rico"))
        for (zone,), part in there.partition_by("zone", as_dict=True).items():
            local = pl.col("arrived").dt.convert_time_zone(str(zone))
            read = local.dt.hour().cast(pl.Int64) * 100 + local.dt.minute()
            wrong += part.filter(read != pl.col("arr_time") % 2400).height
        assert wrong == 1  # its clock had not been put forward yet

    @pytest.mark.parametrize(
        ("where", "departed", "arrived"),
        [
            ({"month": 3, "day": 9, "dest": "PBI", "dep_time": 2306}, "2013-03-10 04:06", "2013-03-10 07:03"),
            ({"month": 3, "day": 10, "dest": "SJU", "dep_time": 2246}, "2013-03-11 02:46", "2013-03-11 06:10"),
            ({"month": 11, "day": 2, "dest": "LAX", "dep_time": 2217}, "2013-11-03 02:17", "2013-11-03 08:14"),
        ],
    )
    def test_clocks_change(self, times: pl.DataFrame, where: dict, departed: str, arrived: str):
        flight = times.filter(**where).row(0, named=True)
        assert (f"{flight['departed']:%F %R}", f"{flight['arrived']:%F %R}") == (departed, arrived)


class TestMessages:
    def test_look_as_the_connector_writes_them(self):
        record = next(flight_changes(flights=1))
        assert record.key == b'{"time_hour":"2013-01-01T10:00:00.000000Z","carrier":"UA","flight":1545}'
        assert record.value is not None
        assert record.value.decode() == (
            '{"before":null,"after":{"year":2013,"month":1,"day":1,"dep_time":null,"sched_dep_time":515,'
            '"dep_delay":null,"arr_time":null,"sched_arr_time":819,"arr_delay":null,"carrier":"UA","flight":1545,'
            '"tailnum":"N14228","origin":"EWR","dest":"IAH","air_time":null,"distance":1400,"hour":5,"minute":15,'
            '"time_hour":"2013-01-01T10:00:00.000000Z"},"source":{"version":"3.6.0.Final","connector":"postgresql",'
            '"name":"airline","ts_ms":1356948900000,"snapshot":"false","db":"airline",'
            '"sequence":"[\\"24000000\\",\\"24000000\\"]","ts_us":1356948900000000,"schema":"public",'
            '"table":"flights","txId":750,"lsn":24000000},"transaction":null,"op":"c","ts_ms":1356948900250}'
        )

    def test_have_no_field_that_the_connector_does_not_write(self):
        real = next(m.document for m in recorded("debezium_postgres") if m.topic == "plain.shop.lines")
        for value, *_ in flight_changes(flights=20):
            if value is not None:
                message = msgspec.json.decode(value)
                assert [name for name in real if name in message] == list(message)
                assert [name for name in real["source"] if name in message["source"]] == list(message["source"])

    def test_a_delete_knows_the_key_alone_and_is_followed_by_a_tombstone(self):
        for records in by_partition(flight_changes(flights=FEW)).values():
            for place, (value, key, *_) in enumerate(records):
                if value is not None and b'"op":"d"' in value:
                    before = msgspec.json.decode(value)["before"]
                    known = {name: value for name, value in before.items() if value is not None}
                    assert len(before) == 19
                    assert known == msgspec.json.decode(key)
                    assert records[place + 1][:2] == (None, key)

    def test_an_update_tells_the_whole_row_as_far_as_it_is_known(self):
        rows = [msgspec.json.decode(value)["after"] for value, *_ in flight_changes(flights=1) if value]
        known = [[row[name] for name in ("dep_time", "dep_delay", "arr_time", "arr_delay", "air_time")] for row in rows]
        assert known == [[None] * 5, [517, 2, None, None, None], [517, 2, 830, 11, 227]]

    def test_a_key_stays_in_its_partition(self):
        for record in flight_changes(flights=FEW, partitions=3):
            assert record.key is not None
            assert record.partition == zlib.crc32(record.key) % 3

    def test_both_formats_tell_the_same_changes(self):
        operations = {"c": "insert", "u": "update", "d": "delete"}
        debezium, dms = [], []
        for value, key, partition, _ in flight_changes(flights=FEW):
            if value is not None:
                document = msgspec.json.decode(value)
                row = document["after"] or document["before"]
                when = datetime.fromtimestamp(document["source"]["ts_ms"] / 1000).astimezone()
                place = (document["source"]["txId"], document["source"]["lsn"])
                debezium.append((key, partition, row, operations[document["op"]], place, when))
        for value, key, partition, _ in flight_changes(flights=FEW, message_format="dms"):
            assert value is not None
            document = msgspec.json.decode(value)
            about = document["metadata"]
            high, low = about["stream-position"].split(".")[-1].split("/")
            place = (about["transaction-id"], int(high + low, 16))
            when = datetime.fromisoformat(about["commit-timestamp"])
            dms.append((key, partition, document["data"], about["operation"], place, when))
        assert debezium == dms

    @pytest.mark.soak
    @pytest.mark.slow
    def test_all_changes_folded_are_the_flights_that_were_not_cancelled(self, ended: pl.DataFrame):
        rows = [{**row, "time_hour": row["time_hour"][:-8] + "Z"} for row in folded(flight_changes()).values()]
        left = pl.DataFrame(rows, schema=ended.schema).sort("time_hour", "minute", "carrier", "flight")
        assert left.height == 328_521
        assert left.equals(ended.filter(pl.col("dep_time").is_not_null()))


class TestSending:
    @pytest.mark.parametrize("disorder", [Disorder(), *DISORDERS])
    def test_can_be_resumed_anywhere(self, disorder: Disorder):
        feed = FlightChanges(flights=FEW, disorder=disorder)
        whole = by_partition(feed.records())
        assert [len(whole[partition]) for partition in range(4)] == feed.ends
        offsets = [0, 1, feed.ends[2], feed.ends[3] // 2]
        rest = by_partition(feed.records(offsets))
        assert all(rest[partition] == whole[partition][end:] for partition, end in enumerate(offsets))
        assert feed.record(3, offsets[3]) == rest[3][0]
        assert not list(feed.records([end + 5 for end in feed.ends]))

    @pytest.mark.parametrize("disorder", [Disorder(), *DISORDERS])
    def test_the_first_days_are_the_beginning_of_all_days(self, disorder: Disorder):
        few, all_days = (by_partition(flight_changes(flights=FEW, days=days, disorder=disorder)) for days in (2, None))
        for partition, records in few.items():
            assert 0 < len(records) < len(all_days[partition])
            assert records == all_days[partition][: len(records)]

    def test_is_the_same_for_the_same_seed_alone(self):
        first, same, other = (
            list(flight_changes(flights=FEW, disorder=Disorder(late=0.3, seed=seed))) for seed in (3, 3, 4)
        )
        assert first == same
        assert first != other
        assert sorted(map(str, first)) == sorted(map(str, other))


class TestDisorder:
    @pytest.mark.parametrize("disorder", DISORDERS)
    def test_loses_nothing_and_ends_in_the_same_rows(self, disorder: Disorder):
        orderly, disorderly = (list(flight_changes(flights=FEW, disorder=each)) for each in (Disorder(), disorder))
        assert orderly != disorderly
        assert set(orderly) == set(disorderly)
        assert folded(disorderly) == folded(orderly)

    @pytest.mark.parametrize("disorder", DISORDERS)
    def test_is_bounded(self, disorder: Disorder):
        for part in FlightChanges(flights=FEW, disorder=disorder).frame.partition_by("partition"):
            late = part["time"].cum_max() - part["time"]
            assert timedelta(0) < late.max() <= disorder.by
            assert (part["delivered"] >= part["time"]).all()  # nothing is told before it happens

    def test_is_as_much_as_asked_for(self):
        frames = [FlightChanges(flights=FEW, disorder=disorder).frame for disorder in DISORDERS]
        share = (frames[0]["delivered"] > frames[0]["time"]).mean()
        again = frames[1]["again"].sum() / (~frames[1]["again"]).sum()
        turned = frames[2].filter(pl.col("delivered") != pl.col("time"))["flight_row"].n_unique() / FEW
        assert share == pytest.approx(0.2, abs=0.02)
        assert again == pytest.approx(0.2, abs=0.02)
        assert turned == pytest.approx(0.5, abs=0.03)

    def test_puts_deletes_before_inserts_too(self):
        frame = FlightChanges(flights=FEW, disorder=Disorder(out_of_order=1)).frame.filter(~pl.col("tombstone"))
        lives = frame.group_by("flight_row", maintain_order=True).agg("kind")["kind"].to_list()
        assert [CANCELLED, SCHEDULED] in lives
        assert [ARRIVED, DEPARTED, SCHEDULED] in lives

    @pytest.mark.parametrize("wrong", [{"late": 1.1}, {"duplicates": -0.1}, {"by": -timedelta(1)}, {"seed": -1}])
    def test_of_a_kind_that_cannot_be_is_refused(self, wrong: dict):
        with pytest.raises(ValueError, match=r"is .* a share|negative"):
            Disorder(**wrong)
