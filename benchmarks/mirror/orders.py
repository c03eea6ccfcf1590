"""What is mirrored: orders, all of whose columns follow from a number and a version; and the changes of a batch."""

import pandera.pyspark as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql import types as t

COLUMNS = ("id", "account", "quantity", "price", "paid", "city", "placed", "status", "note")
_CITIES = "array('lisbon', 'berlin', 'dublin', 'vienna', 'madrid', 'athens', 'warsaw')"
_STATES = "array('placed', 'packed', 'shipped', 'returned')"


class Order(pa.DataFrameModel):  # pyright: ignore[reportMissingTypeArgument]
    """An order."""

    id: t.LongType = pa.Field(description="Number; grows with time")
    account: t.StringType = pa.Field(description="Who ordered")
    quantity: t.IntegerType = pa.Field(description="Pieces")
    price: t.DoubleType = pa.Field(description="Price of one")
    paid: t.BooleanType = pa.Field(description="Whether it is paid")
    city: t.StringType = pa.Field(description="Where to")
    placed: t.TimestampType = pa.Field(description="When")
    status: t.StringType = pa.Field(description="How far it is")
    note: t.StringType = pa.Field(description="A text that does not compress")


def orders(numbers: DataFrame) -> DataFrame:
    """The orders of a frame of `id` and `version`; these and whatever else is in it stay."""
    return numbers.selectExpr(
        "*",
        "concat('a-', lpad(cast(pmod(xxhash64(id), 100000) AS string), 5, '0')) AS account",
        "cast(pmod(xxhash64(id, version), 90) + 1 AS int) AS quantity",
        "pmod(xxhash64(version, id), 50000) / 100D AS price",
        "version > 0 AS paid",
        f"element_at({_CITIES}, cast(pmod(xxhash64(id), 7) + 1 AS int)) AS city",
        "timestamp_millis(1767225600000 + id * 37) AS placed",
        f"element_at({_STATES}, cast(pmod(version, 4) + 1 AS int)) AS status",
        "sha1(cast(concat(id, '-', version) AS binary)) AS note",
    )


def changes(session: SparkSession, kind: str, number: int, rows: int, share: float) -> DataFrame:
    """Batch `number` (from 1): `operation`, the order's columns, and `changed`, when the source made the change.

    Of the keys that it touches nine of ten are updated and one is deleted; as many new ones are inserted as go. A key
    is changed up to twice in a batch.

    Args:
        session: Spark.
        kind: `clustered`: neighbours among the newest orders; `scattered`: anywhere.
        number: of the batch; versions grow with it.
        rows: how many orders there were in the beginning.
        share: of the rows that is touched.
    """
    count = round(rows * share)
    if kind == "clustered":
        touched = session.range(rows - number * count, rows - (number - 1) * count)
    else:
        touched = session.range(rows).where(f.expr(f"pmod(xxhash64(id, {number}), {round(1 / share)}) = 0"))
    gone = f.expr("pmod(xxhash64(id), 10) = 7")
    new = session.range(rows + (number - 1) * count // 10, rows + number * count // 10).withColumn("op", f.lit("c"))
    frames = [
        touched.withColumn("op", f.when(gone, "d").otherwise("u")).withColumn("step", f.lit(1)),
        touched.where("pmod(id, 3) = 0").where(~gone).withColumn("op", f.lit("u")).withColumn("step", f.lit(0)),
        new.withColumn("step", f.lit(0)),
    ]
    union = frames[0].unionByName(frames[1]).unionByName(frames[2])
    version = (2 * number + f.col("step")).cast("long")
    made = orders(union.withColumn("version", version))
    return made.selectExpr(
        "op AS operation",
        *COLUMNS,
        "version",
        f"timestamp_millis(1767225600000 + version * 86400000 + pmod(id, {rows})) AS changed",
    )
