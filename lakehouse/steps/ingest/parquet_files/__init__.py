"""Data files written by workers and added to tables by metadata: as exact as Spark's own writer, and faster.

In the worker `ParquetFiles` writes and tells; on the driver `data_files_from_rows` turns what it told into data files.
"""

from lakehouse.steps.ingest.parquet_files.data_files import data_files_from_rows
from lakehouse.steps.ingest.parquet_files.target import WriteTarget, unsupported
from lakehouse.steps.ingest.parquet_files.writer import FILE_ROWS, ParquetFiles

__all__ = ["FILE_ROWS", "ParquetFiles", "WriteTarget", "data_files_from_rows", "unsupported"]
