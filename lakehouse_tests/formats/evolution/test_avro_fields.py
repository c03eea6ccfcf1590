"""The fields of a writer's schema, by the names that records have."""

from pyspark.sql.types import LongType, StringType

from lakehouse.formats.avro import parse_writer_schema
from lakehouse.formats.evolution.avro_fields import avro_fields
from lakehouse_tests.formats.avro.writing import record


def test_fields_have_their_own_names_and_types() -> None:
    node = parse_writer_schema(
        record(("_kafka_offset", "long"), ("text", ["null", "string"]), ("e", ["int", "string"]))
    )
    fields = [(field.name, field.type, field.nullable) for field in avro_fields(node)]
    assert fields == [("_kafka_offset", LongType(), False), ("text", StringType(), True), ("e", None, False)]
    assert avro_fields(parse_writer_schema('"long"')) == []
