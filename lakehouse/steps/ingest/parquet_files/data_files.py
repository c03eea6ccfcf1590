"""What workers tell of their files, as Iceberg data files with metrics: the driver's half of writing."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.conversions import from_bytes
from pyiceberg.io.pyarrow import (
    MetricModeTypes,
    MetricsMode,
    StatisticsCollector,
    data_file_statistics_from_parquet_metadata,
    parquet_path_to_id_mapping,
)
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.typedef import Record
from pyiceberg.types import DateType, PrimitiveType, TimestampType, TimestamptzType

from lakehouse.steps.ingest.parquet_files.metrics import metrics_plan

_COUNTS = MetricsMode(MetricModeTypes.COUNTS)
_TIMES = (DateType, TimestampType, TimestamptzType)


def data_files_from_rows(metadata: TableMetadata, rows: Iterable[Mapping[str, Any]]) -> list[DataFile]:
    """Data files for rows of `FILE_ROWS`.

    Metrics come from the files' footers and honour the table's metrics modes.

    Args:
        metadata: The table that the files were written for: same schema and partition spec.
        rows: One mapping per file.
    """
    schema, spec = metadata.schema(), metadata.spec()
    plan = metrics_plan(schema, metadata.properties)
    paths = parquet_path_to_id_mapping(schema)
    kinds = [cast("PrimitiveType", field.field_type) for field in spec.partition_type(schema).fields]
    files: list[DataFile] = []
    for row in rows:
        footer = pq.read_metadata(pa.BufferReader(row["footer"]))
        statistics = _statistics(footer, plan, paths)
        counted = {int(field_id): count for field_id, count in json.loads(row["nan_counts"]).items()}
        statistics["nan_value_counts"] = {
            field_id: count for field_id, count in counted.items() if field_id in statistics["value_counts"]
        }
        values = [
            None if value is None else from_bytes(kind, bytes(value))
            for kind, value in zip(kinds, row["partition"], strict=True)
        ]
        files.append(
            DataFile.from_args(
                content=DataFileContent.DATA,
                file_path=row["path"],
                file_format=FileFormat.PARQUET,
                partition=Record(*values),
                file_size_in_bytes=row["file_size"],
                sort_order_id=None,
                spec_id=spec.spec_id,
                equality_ids=None,
                key_metadata=None,
                **statistics,
            )
        )
    return files


def _statistics(footer: pq.FileMetaData, plan: dict[int, StatisticsCollector], paths: dict[str, int]) -> dict[str, Any]:
    try:
        return data_file_statistics_from_parquet_metadata(footer, plan, paths).to_serialized_dict()
    except OverflowError:
        # A producer may send a timestamp beyond the year 9999, which Python cannot tell: then without bounds.
        timeless = {
            number: replace(column, mode=_COUNTS) if isinstance(column.iceberg_type, _TIMES) else column
            for number, column in plan.items()
        }
        return data_file_statistics_from_parquet_metadata(footer, timeless, paths).to_serialized_dict()
