"""The fields of an Avro schema as columns would hold them."""

from lakehouse.formats.avro.nodes import AvroType
from lakehouse.formats.evolution.json_fields import SourceField
from lakehouse.formats.inference.avro_columns import columns_of_schema


def avro_fields(node: AvroType) -> list[SourceField]:
    """The fields of a record; of another type none."""
    if node.kind != "record":
        return []
    return [SourceField(c.alias or c.name, c.type, c.nullable) for c in columns_of_schema(node)]
