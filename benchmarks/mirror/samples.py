"""The form of aws-samples' SparkCDCMirror, with its table.

A flat changelog; the mirror partitioned by a bucket of the key, copy-on-write; of each key the newest change of the
window by `row_number()` over time; one MERGE on the key. (What it leaves undone, such as late or equal changes, is not
held against it here: the batches have none.)
"""

import time
from typing import Any

from pyspark.sql import SparkSession

from benchmarks.mirror.orders import COLUMNS, changes, orders
from lakehouse.settings import Settings

_TYPES = (
    "id bigint, account string, quantity int, price double, paid boolean, city string, placed timestamp, "
    "status string, note string"
)


def answer(session: SparkSession, _: Settings, do: str, namespace: str, **what: Any) -> dict[str, Any]:
    """Build, take in changes, merge, read."""
    mirror, log = f"lake.{namespace}.mirror", f"lake.{namespace}.changelog"
    began = time.monotonic()
    match do:
        case "build":
            session.sql(f"CREATE TABLE {mirror} ({_TYPES}) USING iceberg PARTITIONED BY (bucket(8, id))")
            session.sql(
                f"CREATE TABLE {log} (operation string, {_TYPES}, version bigint, changed timestamp) USING iceberg"
            )
            rows = orders(session.range(what["rows"]).selectExpr("id", "0L AS version")).select(*COLUMNS)
            rows.writeTo(mirror).append()
        case "changes":
            changes(session, what["kind"], what["number"], what["rows"], what["share"]).writeTo(log).append()
        case "merge":
            _merge(session, mirror, log, what["number"])
        case _:
            raise ValueError(do)
    return {"seconds": time.monotonic() - began}


def _merge(session: SparkSession, mirror: str, log: str, number: int) -> None:
    columns = ", ".join(COLUMNS)
    window = f"timestamp_millis(1767225600000 + {2 * number} * 86400000L)"
    source = (
        f"SELECT operation, {columns} FROM (SELECT *, row_number() OVER (PARTITION BY id ORDER BY changed DESC) AS "
        f"place FROM {log} WHERE changed >= {window}) WHERE place = 1"
    )
    session.sql(
        f"MERGE INTO {mirror} t USING ({source}) s ON t.id = s.id "
        "WHEN MATCHED AND s.operation = 'd' THEN DELETE "
        f"WHEN MATCHED THEN UPDATE SET {', '.join(f't.{name} = s.{name}' for name in COLUMNS)} "
        f"WHEN NOT MATCHED AND s.operation <> 'd' THEN INSERT ({columns}) "
        f"VALUES ({', '.join(f's.{name}' for name in COLUMNS)})"
    )
