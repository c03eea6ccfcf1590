"""Where and how files of a table are to be written, in a form that travels; and what is beyond our writer."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    TruncateTransform,
    VoidTransform,
    YearTransform,
)
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
)

from lakehouse.iceberg.locations import require_whole

_TYPES = (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
)
_TIME_TRANSFORMS = (YearTransform, MonthTransform, DayTransform, HourTransform)
_TRANSFORMS = (IdentityTransform, BucketTransform, TruncateTransform, VoidTransform, *_TIME_TRANSFORMS)
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_INFERRED_COLUMNS = "write.metadata.metrics.max-inferred-column-defaults"
_FOREIGN_SWITCHES = (
    "write.location-provider.impl",
    "write.py-location-provider.impl",
    "write.object-storage.path",
    "write.folder-storage.path",
    "encryption.key-id",
)
# Of the catalog, and nothing that files are written with. A task's payload is no place for them.
_LOGIN = ("credential", "token", "uri", "scope")
_LOGIN_PREFIXES = ("header.", "auth.", "oauth2-", "rest.", "jdbc.")
_SIGNER = "s3.signer"


@dataclass(frozen=True)
class WriteTarget:
    """All that a worker must know of a table; plain strings, so it can be pickled and sent.

    Attributes:
        location: The table's location.
        schema_json: Its current schema.
        spec_json: Its default partition spec.
        properties: Its properties.
        io_properties: How its storage is reached. These may hold credentials of the storage: never log them.
    """

    location: str
    schema_json: str
    spec_json: str
    properties: Mapping[str, str]
    io_properties: Mapping[str, str]

    @classmethod
    def of(cls, metadata: TableMetadata, io_properties: Mapping[str, str]) -> "WriteTarget":
        """The target for new files of a table as it is now.

        Raises:
            AddressCut: they would be written to one and the same address.
        """
        require_whole(f"The table at {metadata.location}", metadata.location, metadata.properties)
        return cls(
            location=metadata.location,
            schema_json=metadata.schema().model_dump_json(),
            spec_json=metadata.spec().model_dump_json(),
            properties=dict(metadata.properties),
            io_properties=storage_properties(io_properties),
        )

    def __repr__(self) -> str:
        return f"WriteTarget({self.location!r})"

    def schema(self) -> Schema:
        """The schema, with field ids."""
        return Schema.model_validate_json(self.schema_json)

    def spec(self) -> PartitionSpec:
        """The partition spec."""
        return PartitionSpec.model_validate_json(self.spec_json)


def storage_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """What a worker has to know of a catalog's properties: its storage, and not the login of the catalog.

    Where the catalog signs each request to the store, whoever writes needs the login for that.
    """
    if _SIGNER in properties:
        return dict(properties)
    return {
        key: value for key, value in properties.items() if key not in _LOGIN and not key.startswith(_LOGIN_PREFIXES)
    }


def unsupported(metadata: TableMetadata) -> str | None:
    """Why files of this table must be written by Spark's own writer; None if ours will do.

    Our files must be what Spark would have written. What we do not write alike is named here, not approximated.
    """
    properties = metadata.properties
    if metadata.format_version > 2:
        return f"format version {metadata.format_version}"
    if properties.get("write.format.default", "parquet").lower() != "parquet":
        return f"file format {properties['write.format.default']}"
    if metadata.sort_order().fields:
        return "a sort order"
    if properties.get("write.distribution-mode") == "range":
        return "write.distribution-mode=range"
    for key, value in properties.items():
        if key in _FOREIGN_SWITCHES or (key.startswith("write.parquet.bloom-filter-enabled.") and value == "true"):
            return f"property {key}"
    return _unsupported_columns(metadata) or _unsupported_partitions(metadata)


def _unsupported_columns(metadata: TableMetadata) -> str | None:
    schema = metadata.schema()
    for field_id in schema.field_ids:
        field = schema.find_field(field_id)
        name = schema.find_column_name(field_id)
        if not isinstance(field.field_type, _TYPES):
            return f"column {name} of type {field.field_type}"
        if not _PLAIN_NAME.fullmatch(field.name):
            return f"column name {name!r}, which Parquet files spell differently"
    # Beyond so many columns Spark keeps metrics of the first ones only.
    inferred = int(metadata.properties.get(_INFERRED_COLUMNS, "100"))
    if len(schema.field_ids) > inferred and "write.metadata.metrics.default" not in metadata.properties:
        return f"more than {inferred} columns without write.metadata.metrics.default"
    return None


def _unsupported_partitions(metadata: TableMetadata) -> str | None:
    schema = metadata.schema()
    top_level = {field.field_id: field.field_type for field in schema.fields}
    for field in metadata.spec().fields:
        source: IcebergType | None = top_level.get(field.source_id)
        if not isinstance(field.transform, _TRANSFORMS):
            return f"partition transform {field.transform}"
        if source is None and not isinstance(field.transform, VoidTransform):
            return f"partition field {field.name} from within a struct"
        if isinstance(source, FloatType | DoubleType):
            return f"partition field {field.name} of type {source}"
        if isinstance(field.transform, TruncateTransform) and not isinstance(source, StringType | BinaryType):
            # Near the smallest number of the type writers overflow, each in its own way.
            return f"partition field {field.name}, a truncated number"
    return None
