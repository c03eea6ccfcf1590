"""One stream's failure is one line of `lakehouse run`, and keeps nothing else from being done."""

import json
import re

import pytest

from lakehouse_tests.orchestration.assets.house import STREAM, TABLE, House

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]


def declare_on_a_topic_that_is_not_there(house: House) -> None:
    """A table of the demo's, of a stream whose topic nobody has made."""
    table = TABLE.replace("raw.birds", "raw.lost").replace("ornithology", "demo")
    house.declare("lost_table", table)
    stream = STREAM.replace("raw.birds", "raw.lost").replace('"birds"', '"lost"')
    house.declare("lost", stream.format(topic=f"{house.topic}-nowhere"))


def test_all_other_streams_are_read_to_their_end_and_reported(working_house: House) -> None:
    house = working_house
    declare_on_a_topic_that_is_not_there(house)
    house.birds(6)
    done = house.command("run", exit_code=2, LAKEHOUSE__INGEST__MAX_RECORDS_PER_RUN="4")
    failures = re.findall(r"^\w+ failed: .*$", done.stdout, re.MULTILINE)
    assert len(failures) == 1
    assert failures[0].startswith(f"ingest_lost failed: Topic {house.topic}-nowhere does not exist")
    assert f"6 messages of topic {house.topic} = 6 in raw.birds + 0 in quarantine.birds" in done.stdout
    assert "6 rows added, and 1 step failed: see above" in done.stdout
    assert re.search(r"^Checks: [1-9]\d* passed, 0 failed\.$", done.stdout, re.MULTILINE)
    (refusal, *_) = json.loads(house.command("log", "--kind", "refusal", "--json").stdout)
    assert (refusal["outcome"], refusal["step"]) == ("refused", "ingest_lost")
    assert f"{house.topic}-nowhere" in refusal["message"]


def test_without_the_demo_nothing_of_it_fails(working_house: House) -> None:
    house = working_house
    declare_on_a_topic_that_is_not_there(house)
    house.birds(2)
    done = house.command("run", "--no-demo")
    assert "the demo is left out: there is no topic " in done.stderr
    assert "raw.lost" not in done.stdout
    assert "2 in raw.birds" in done.stdout
    # By the setting, for every command.
    tables = json.loads(house.command("tables", "--json", LAKEHOUSE_DEMO="false").stdout)
    assert "raw.lost" not in {table["table"] for table in tables}
