"""Reads a whole mirror, for both systems in the same process: all source columns, as rows and a checksum."""

import time
from typing import Any

from pyspark.sql import SparkSession

from lakehouse.settings import Settings


def answer(session: SparkSession, _: Settings, table: str, columns: list[str]) -> dict[str, Any]:
    """How long, how many rows, and a sum of hashes that does not depend on their order."""
    began = time.monotonic()
    # Sums of 64-bit hashes as decimals, since they overflow.
    hashed = f"sum(cast(xxhash64({', '.join(columns)}) AS decimal(38, 0)))"
    row = session.sql(f"SELECT count(*) AS rows, {hashed} AS checksum FROM {table}").collect()[0]
    return {"seconds": time.monotonic() - began, "rows": row["rows"], "checksum": str(row["checksum"])}
