"""Which metrics of which column go into the manifest, as Iceberg's Java writers decide it.

PyIceberg decides alike for top-level columns. Within structs it drops the bounds that Java keeps, and within lists and
maps it keeps counts that Java drops.
"""

from collections.abc import Iterator, Mapping
from itertools import chain

from pyiceberg.io.pyarrow import MetricModeTypes, MetricsMode, StatisticsCollector, match_metrics_mode
from pyiceberg.schema import Schema
from pyiceberg.types import BinaryType, IcebergType, ListType, MapType, PrimitiveType, StringType, StructType

_DEFAULT = "write.metadata.metrics.default"
_COLUMN = "write.metadata.metrics.column."
_NONE = MetricsMode(MetricModeTypes.NONE)


def metrics_plan(schema: Schema, properties: Mapping[str, str]) -> dict[int, StatisticsCollector]:
    """What to collect of every leaf, by field id."""
    default = properties.get(_DEFAULT, "truncate(16)")
    plan: dict[int, StatisticsCollector] = {}
    leaves = (_leaf(field.field_id, field.name, field.field_type, repeated=False) for field in schema.fields)
    for field_id, name, kind, repeated in chain.from_iterable(leaves):
        mode = _NONE if repeated else match_metrics_mode(properties.get(_COLUMN + name, default))
        if mode.type == MetricModeTypes.TRUNCATE and not isinstance(kind, StringType | BinaryType):
            mode = MetricsMode(MetricModeTypes.FULL)
        plan[field_id] = StatisticsCollector(field_id=field_id, iceberg_type=kind, mode=mode, column_name=name)
    return plan


def _leaf(
    field_id: int, name: str, kind: IcebergType, *, repeated: bool
) -> Iterator[tuple[int, str, PrimitiveType, bool]]:
    if isinstance(kind, StructType):
        for field in kind.fields:
            yield from _leaf(field.field_id, f"{name}.{field.name}", field.field_type, repeated=repeated)
    elif isinstance(kind, ListType):
        yield from _leaf(kind.element_id, f"{name}.element", kind.element_type, repeated=True)
    elif isinstance(kind, MapType):
        yield from _leaf(kind.key_id, f"{name}.key", kind.key_type, repeated=True)
        yield from _leaf(kind.value_id, f"{name}.value", kind.value_type, repeated=True)
    elif isinstance(kind, PrimitiveType):
        yield field_id, name, kind, repeated
