"""A day of a stream, read again from Dagster: equal, different, or without records; nothing is ever published."""

import json
from datetime import UTC, date, datetime, time, timedelta

import dagster as dg
import pytest
from confluent_kafka import Producer

from lakehouse.build import build_defs
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.orchestration.assets import replay as module
from lakehouse_tests.orchestration.assets.house import STREAM, TABLE, House

KEY = dg.AssetKey(["replay", "birds"])


def test_only_what_the_stream_has_read_of_a_day_is_read_again() -> None:
    previous = KafkaStatement("cluster", "t", "id", {}, {0: 50, 1: 7, 2: 9}, origin={0: 10, 1: 0, 2: 0})
    first, after = {0: 3, 1: 7, 2: 2, 3: 0}, {0: 90, 1: 9, 2: 2, 3: 4}
    assert module.day_ranges(previous, first, after) == {0: (10, 50)}
    assert module.day_ranges(previous, {2: 4}, {2: 6}) == {2: (4, 6)}


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.kafka
def test_a_day_is_a_partition_that_proves_or_names_what_differs(working_house: House) -> None:
    house = working_house
    today, yesterday = (datetime.now(UTC).date() - timedelta(days=days) for days in (0, 1))
    start = today - timedelta(days=3)
    dated = f"replay_from=date({start.year}, {start.month}, {start.day}), max_quarantine_share"
    declared = STREAM.format(topic=house.topic).replace("max_quarantine_share", dated)
    house.declare("sightings", declared.replace("from lakehouse", "from datetime import date\n\nfrom lakehouse"))
    producer = Producer({"bootstrap.servers": house.kafka.bootstrap_servers})
    for days, name in ((1, "wren"), (1, "kite"), (0, "auk")):
        noon = datetime.combine(today - timedelta(days=days), time(0, 1), UTC)
        value = json.dumps({"name": name, "count": 1, "weight": 0.02})
        producer.produce(house.topic, value, partition=0, timestamp=int(noon.timestamp() * 1000))
    producer.flush()
    producer.close()
    assert "raw.birds" in house.command("run").output
    head = house.lake().pin("raw.birds")["raw.birds"].snapshot_id

    def replayed(day: date) -> dg.ExecuteInProcessResult:
        asset = build_defs(house.settings).resolve_assets_def(KEY)
        return dg.materialize([asset], partition_key=day.isoformat(), instance=house.instance, raise_on_error=False)

    def count_and_partition(day: date) -> tuple[object, object]:
        done = replayed(day)
        assert done.success
        [event] = done.get_asset_materialization_events()
        return event.materialization.metadata["records"].value, event.partition

    assert count_and_partition(yesterday) == (2, yesterday.isoformat())
    assert count_and_partition(yesterday - timedelta(days=1))[0] == 0
    assert house.lake().pin("raw.birds")["raw.birds"].snapshot_id == head
    house.declare("birds", TABLE.replace("ge=1", "ge=2"))
    broken = replayed(yesterday)
    assert not broken.success
    [failure] = broken.get_step_failure_events()
    error = failure.step_failure_data.error
    assert error is not None
    assert error.cause is not None
    assert "raw.birds" in error.cause.message
    assert "partition 0 offset 0" in error.cause.message
