"""What a user sees of an ingest in Dagster: what was materialized, with which metadata, and what was not."""

import json

import dagster as dg
import pytest
import yaml

import lakehouse.orchestration.assets.stream
from lakehouse.build import build_defs
from lakehouse.engines.kafka.group_positions import committed_positions
from lakehouse.orchestration.resources.stream_status import stream_status
from lakehouse.orchestration.run_context import RUNTIME_DATE_TAG
from lakehouse.protocol.errors import Superseded
from lakehouse.settings import load_settings
from lakehouse.steps.ingest.ingest_step import IngestStep
from lakehouse_tests.orchestration.assets.house import STREAM, TABLE, House, checks, materializations

pytestmark = [pytest.mark.spark, pytest.mark.kafka]
SECRET = "Ornitholog-4711"


def test_a_run_materializes_every_table_and_answers_every_check(working_house: House) -> None:
    house = working_house
    house.birds(30)
    house.send(b"no bird", {"name": "auk", "count": 0})
    result = house.run(tags={RUNTIME_DATE_TAG: "2013-05-14"})
    assert result.success
    made = materializations(result)
    assert set(made) == {"raw.birds", "quarantine.birds"}
    birds = {key: value.value for key, value in made["raw.birds"].metadata.items()}
    snapshot = str(house.lake().pin("raw.birds")["raw.birds"].snapshot_id)
    assert (birds["rows added"], birds["dagster/row_count"], birds["records read"]) == (30, 30, 32)
    assert (birds["lag"], birds["quarantine share"]) == (0, 0.0625)
    assert birds["error classes"] == {"not_json": 1, "rule": 1}
    assert birds["snapshot id"] == snapshot
    assert birds["runtime date"] == "2013-05-14"
    assert "image/png;base64" in str(birds["arrivals"])
    assert len(str(birds["arrivals"])) < 20_000
    assert "refused by day" not in birds
    assert "image/png;base64" in str(made["quarantine.birds"].metadata["refused by day"].value)
    offsets = made["raw.birds"].metadata["offsets"]
    assert isinstance(offsets, dg.TableMetadataValue)
    assert sum(int(str(record.data["offsets"])) for record in offsets.records) == 32
    tags = made["raw.birds"].tags or {}
    assert tags[RUNTIME_DATE_TAG] == "2013-05-14"
    assert tags["dagster/data_version"] == snapshot
    assert all(check.passed for check in checks(result).values())
    assert house.lake().pin("raw.birds")["raw.birds"].sealed.seal.runtime_date == "2013-05-14"  # pyright: ignore[reportOptionalMemberAccess]


def test_the_position_of_an_ingest_is_in_the_streams_consumer_group_where_that_is_asked_for(
    working_house: House,
) -> None:
    """Guarded mechanism: the group is written after the publish, with the position that the seal says."""
    house = working_house
    kafka = {"bootstrap_servers": house.kafka.bootstrap_servers, "mirror_positions": True, "group_prefix": house.topic}
    (house.conf / "kafka" / "local.yaml").write_text(yaml.safe_dump(kafka))
    house.birds(5)
    result = house.run()
    assert result.success
    group = f"{house.topic}birds"
    assert materializations(result)["raw.birds"].metadata["position mirrored to group"].value == group
    sealed = stream_status(house.lake(), house.lake().declarations.streams["birds"]).sealed
    assert sealed is not None
    assert committed_positions(house.kafka, house.topic, group, [0, 1]) == sealed.end == {0: 3, 1: 2}


def test_the_columns_are_told_with_types_and_documentation(working_house: House) -> None:
    working_house.birds(1)
    made = materializations(working_house.run())
    schema = made["raw.birds"].metadata["dagster/column_schema"].value
    assert isinstance(schema, dg.TableSchema)
    columns = {column.name: column for column in schema.columns}
    assert columns["count"].type == "int"
    assert columns["count"].description == "How many of them"
    assert not columns["count"].constraints.nullable
    assert columns["observer"].constraints.nullable
    assert "sensitive" in columns["observer"].tags
    assert "_kafka_offset" in columns


def test_nothing_new_is_a_success_without_a_materialization(working_house: House) -> None:
    working_house.birds(3)
    assert working_house.run().success
    again = working_house.run()
    assert again.success
    assert not materializations(again)


def test_who_was_superseded_succeeds_and_materializes_nothing(
    working_house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_late(_: IngestStep) -> None:
        raise Superseded("raw.birds: attempt x published snapshot 1 first.")

    monkeypatch.setattr(lakehouse.orchestration.assets.stream, "ingest", too_late)
    result = working_house.run()
    assert result.success
    assert not materializations(result)


def test_too_many_bad_records_fail_the_run_and_show_nothing(working_house: House) -> None:
    working_house.send(*[b"x"] * 20, b"y", {"name": "owl", "count": 1})
    result = working_house.run()
    assert not result.success
    assert not materializations(result)
    assert working_house.lake().arrow("raw.birds").num_rows == 0


def test_a_value_of_a_sensitive_column_is_nowhere_in_a_run(working_house: House) -> None:
    house = working_house
    house.birds(20)
    house.send(
        {"name": "owl", "count": 1, "observer": SECRET},
        {"name": "owl", "count": 0, "observer": SECRET},
        {"name": "owl", "count": 1, "observer": [SECRET]},
        f'{{"observer": "{SECRET}", '.encode(),
    )
    result = house.run()
    assert result.success
    assert SECRET in str(house.lake().arrow("raw.birds", columns=["observer"]).to_pylist())
    for entry in house.instance.all_logs(result.run_id):
        assert SECRET not in str(entry.to_json())
        assert SECRET not in entry.user_message


def test_a_table_that_is_not_yet_as_declared_asks_for_apply(working_house: House) -> None:
    house = working_house
    house.birds(2)
    assert house.run().success
    text = (house.conf / "declarations" / "birds.py").read_text()
    house.declare("birds", text.replace("    observer:", "    place: str = pa.Field(nullable=True)\n    observer:"))
    house.birds(1)
    result = house.run()
    assert not result.success
    [failed] = result.get_step_failure_events()
    assert failed.step_failure_data.error is not None
    assert "lakehouse apply" in failed.step_failure_data.error.to_string()


def test_two_small_files_in_a_folder_of_ones_own_add_a_topic_with_its_table(working_house: House) -> None:
    house = working_house
    folder = house.root / "mine"
    folder.mkdir()
    for name in ("birds", "sightings"):
        (house.conf / "declarations" / f"{name}.py").rename(folder / f"{name}.py")
    settings = load_settings(house.conf, {"LAKEHOUSE_DECLARATIONS": str(folder)})
    house.birds(4)
    result = house.run(defs=build_defs(settings))
    assert result.success
    assert set(materializations(result)) == {"raw.birds", "quarantine.birds"}
    assert house.lake().catalog.load_table(("raw", "birds")).scan().to_arrow().num_rows == 4


def test_tables_that_records_name_are_materialized_proven_and_looked_after(working_house: House) -> None:
    house = working_house
    house.declare("birds", TABLE.replace("raw.birds", "raw.any"))
    route = 'ToNamed(field="where", like="raw.any", table="raw.{}", namespaces=("raw",), names="garden|forest")'
    text = STREAM.format(topic=house.topic).replace('ToTable("raw.birds")', route)
    house.declare("sightings", text.replace("ToTable", "ToNamed"))
    house.send(*({"where": w, "name": "tit", "count": 1} for w in ("garden", "forest", "garden", "moon")))
    result = house.run()
    assert result.success
    made = materializations(result)
    assert set(made) == {"raw.any", "raw.garden", "raw.forest", "quarantine.birds"}
    garden = made["raw.garden"].metadata
    assert (garden["rows added"].value, garden["dagster/row_count"].value) == (2, 2)
    assert (made["raw.garden"].tags or {})["dagster/data_version"] == garden["snapshot id"].value
    assert "| raw.forest | 1 |" in str(made["raw.any"].metadata["summary"].value)
    by_name = checks(result)
    assert all(check.passed for check in by_name.values())
    assert "All 3 rows of snapshot" in str(by_name["raw.any exactly_once"].description)
    assert "and of 2 tables made like it" in str(by_name["raw.any exactly_once"].description)
    report = json.loads(house.command("audit", "--json").stdout)
    assert {"raw.garden", "raw.forest"} <= set(json.dumps(report).replace('"', " ").split())
    plans = json.loads(house.command("maintain", "--plan", "--json").stdout)["tables"]
    assert {"raw.any", "raw.garden", "raw.forest", "quarantine.birds"} <= set(plans)
    house.command("maintain", "raw.garden")
    assert "raw.garden" in house.command("tables").stdout
