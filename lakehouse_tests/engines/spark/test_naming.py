"""Names that reach Spark's SQL end no quotes."""

from lakehouse.engines.spark.naming import quoted_name, quoted_table


def test_a_backtick_within_a_name_ends_no_quotes() -> None:
    assert quoted_name("a", "b`; DROP TABLE x") == "`a`.`b``; DROP TABLE x`"
    assert quoted_table("raw.birds") == "`lake`.`raw`.`birds`"
