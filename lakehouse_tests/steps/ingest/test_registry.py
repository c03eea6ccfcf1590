"""Records that name their schemas: the driver asks for them; unknown ones are refused, and silence loses nothing."""

from dataclasses import replace

import msgspec
import pytest
from pyspark.sql import types as T  # noqa: N812

from lakehouse import seal_keys
from lakehouse.declarations import Avro
from lakehouse.engines.registries import ConfluentRegistry, RegistryUnavailable
from lakehouse.protocol.seals.history import last_seal
from lakehouse.settings import RegistrySettings
from lakehouse_tests.formats.avro.writing import encoded, record
from lakehouse_tests.steps.ingest.conftest import MakeLanding

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]
OLD = record(("id", "long"))
NEW = record(("text", "string"), ("id", "int"), ("more", ["null", "int"]))


def framed(schema_id: int, value: bytes) -> bytes:
    return b"\x00" + schema_id.to_bytes(4, "big") + value


def test_each_record_is_read_by_the_schema_that_it_names(
    landing: MakeLanding, schema_registry: RegistrySettings
) -> None:
    made = landing(format=Avro(registry=True), columns={"id": T.LongType(), "text": T.StringType()})
    registry = ConfluentRegistry(schema_registry)
    old = registry.register(f"{made.stream.topic}-value", OLD)
    elsewhere = registry.register("another-subject", NEW)
    stream = replace(made, kafka=made.kafka.model_copy(update={"schema_registry": schema_registry}))
    stream.send([framed(old, encoded(OLD, {"id": 1}))])
    stream.ingest(run_id="first")

    down = replace(
        made, kafka=made.kafka.model_copy(update={"schema_registry": RegistrySettings(url="http://127.0.0.1:1")})
    )
    new = encoded(NEW, {"text": "two", "id": 2, "more": 7})
    stream.send(
        [framed(elsewhere, new), framed(2**31 - 1, new), framed(old, new), b"{}", framed(old, encoded(OLD, {"id": 3}))]
    )
    with pytest.raises(RegistryUnavailable):
        down.ingest(run_id="down")
    assert stream.column("raw.things", "id") == [1]

    report = stream.ingest(run_id="second")
    assert stream.rows("raw.things", "id", "text")[1:] == [{"id": 2, "text": "two"}, {"id": 3, "text": None}]
    assert stream.quarantined() == [(2, "unknown_schema"), (3, "not_avro"), (4, "no_schema_id")]
    assert report.schemas == {str(old): 2, str(elsewhere): 1, str(2**31 - 1): 1}
    assert report.extra_fields == {"more": 1}
    sealed = last_seal(stream.load("raw.things"))
    assert sealed is not None
    assert msgspec.json.decode(sealed.seal.statement[seal_keys.FORMAT_SCHEMAS]) == report.schemas
    assert stream.holds().read == 6
