"""`lakehouse audit`: its exit code is a verdict."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from lakehouse.cli import app
from lakehouse_tests.orchestration.assets.house import House

pytestmark = pytest.mark.kafka


def audit(house: House, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["--conf", str(house.conf), "audit", *arguments])


@pytest.mark.spark
def test_good_is_0_and_broken_is_1_with_the_place(working_house: House) -> None:
    house = working_house
    house.birds(20)
    house.send(b"no bird")
    assert house.run().success
    good = audit(house)
    assert good.exit_code == 0, good.output
    assert "Every promise holds" in good.output
    proof = json.loads(audit(house, "--json", "--scan").output)
    assert proof["holds"]
    assert {proven["decided_by"] for proven in proof["streams"][0]["ranges"]} == {"scan"}

    table = house.lake().catalog.load_table(("raw", "birds"))
    table.delete("_kafka_partition = 0 and _kafka_offset = 1")
    bad = audit(house)
    assert bad.exit_code == 1, bad.output
    assert "raw.birds, partition 0" in bad.output
    verdict = json.loads(audit(house, "birds", "--json").output)
    by_table = json.loads(audit(house, "raw.birds", "--json").output)
    assert [proof["stream"] for proof in by_table["streams"]] == ["birds"], "a table is asked of its stream"
    assert not verdict["holds"]
    assert any(finding["partition"] == 0 and "1" in finding["message"] for finding in verdict["streams"][0]["findings"])


def test_what_cannot_be_judged_is_2_in_one_line(house: House, tmp_path: Path) -> None:
    missing = audit(house)
    assert missing.exit_code == 2
    assert "raw.birds" in missing.output
    assert "lakehouse apply" in missing.output
    assert audit(house, "fish").exit_code == 2
    named = audit(house, "raw.birds")
    assert named.exit_code == 2, "a table that does not exist holds no promise"
    assert "raw.birds, quarantine.birds do not exist" in named.output
    (house.conf / "catalogs").unlink()
    (house.conf / "catalogs").mkdir()
    (house.conf / "catalogs" / "local.yaml").write_text("type: rest\nuri: http://127.0.0.1:1\nwarehouse: w\n")
    unreachable = audit(house)
    assert unreachable.exit_code == 2
    assert "Traceback" not in unreachable.output


def test_an_empty_stream_holds(house: House) -> None:
    lake = house.lake()
    lake.ensure(lake.declarations.tables)
    assert audit(house).exit_code == 0
