"""A short way to declare a table."""

from typing import Any

import pandera.pyspark as pa
import pyspark.sql.types as T  # noqa: N812

from lakehouse.declarations import Table


def declare(columns: dict[str, Any], name: str = "raw.things", **more: Any) -> Table:
    """Declare a table of these columns; a bare type is a nullable column of it."""
    pandera_columns = {n: pa.Column(c, nullable=True) if isinstance(c, T.DataType) else c for n, c in columns.items()}
    return Table(name=name, schema=pa.DataFrameSchema(pandera_columns), description="Things.", owner="tests", **more)
