"""Tables follow their records, from a real topic and a registry through Spark."""

from dataclasses import replace

import pytest
from pyspark.sql import types as T  # noqa: N812

from lakehouse.declarations import Avro, Evolution
from lakehouse.engines.registries import ConfluentRegistry
from lakehouse.settings import RegistrySettings
from lakehouse_tests.formats.avro.writing import encoded, record
from lakehouse_tests.steps.ingest.conftest import MakeLanding
from lakehouse_tests.steps.ingest.test_registry import framed

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]
OLD = record(("id", "long"), ("count", "int"))
NEW = record(("id", "long"), ("count", "long"), ("more", ["null", "string"]))
OTHER = record(("id", "long"), ("count", "string"))


def test_a_table_follows_the_schemas_of_its_topic(landing: MakeLanding, schema_registry: RegistrySettings) -> None:
    made = landing(
        format=Avro(registry=True),
        columns={"id": T.LongType(), "count": T.IntegerType()},
        table={"evolution": Evolution(otherwise="second_column")},
    )
    registry = ConfluentRegistry(schema_registry)
    old, new, other = (registry.register(f"{made.stream.topic}-{n}", text) for n, text in enumerate((OLD, NEW, OTHER)))
    stream = replace(made, kafka=made.kafka.model_copy(update={"schema_registry": schema_registry}))
    stream.send([framed(old, encoded(OLD, {"id": 1, "count": 1}))])
    assert not stream.ingest(run_id="first").evolved
    stream.send(
        [
            framed(new, encoded(NEW, {"id": 2, "count": 2**40, "more": "x"})),
            framed(other, encoded(OTHER, {"id": 3, "count": "many"})),
            framed(old, encoded(OLD, {"id": 4, "count": 4})),
        ]
    )
    report = stream.ingest(run_id="second")
    assert sorted(report.evolved["raw.things"]) == [
        "add column count_string string",
        "add column more string",
        "count_string: values of `count` that count does not take",
        "widen column count from int to long",
    ]
    assert [c.name for c in report.tables["raw.things"].own_columns] == ["id", "count", "more", "count_string"]
    assert stream.rows("raw.things", "id", "count", "more", "count_string") == [
        {"id": 1, "count": 1, "more": None, "count_string": None},
        {"id": 2, "count": 2**40, "more": "x", "count_string": None},
        {"id": 3, "count": None, "more": None, "count_string": "many"},
        {"id": 4, "count": 4, "more": None, "count_string": None},
    ]
    assert stream.holds().read == 4
