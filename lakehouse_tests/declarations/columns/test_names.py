"""Names that Kafka, Iceberg or we could not carry are refused when they are declared."""

import pytest

from lakehouse.declarations.columns.error import DeclarationError
from lakehouse.declarations.columns.names import (
    LONGEST_NAME,
    check_column_name,
    check_input_name,
    check_stream_name,
    check_topic_name,
    table_identifier,
)


def test_a_table_has_a_namespace_and_a_name() -> None:
    assert table_identifier("raw.birds_2") == ("raw", "birds_2")
    assert table_identifier("_raw._birds") == ("_raw", "_birds")
    for name in ("birds", "a.b.c", "raw.", "raw.2birds", "raw.b`irds", "raw.vögel"):
        with pytest.raises(DeclarationError, match="cannot name a table"):
            table_identifier(name)


def test_names_that_some_catalogs_allow_are_refused_with_the_reason() -> None:
    with pytest.raises(DeclarationError, match="namespace within a namespace is nothing that Hive or Glue has"):
        table_identifier("shop.raw.birds")
    with pytest.raises(DeclarationError, match="no name of a Dagster step has a dash"):
        table_identifier("raw.sea-birds")


def test_what_iceberg_and_kafka_need_is_reserved_but_not_within_a_struct() -> None:
    for name, why in (("_FILE", "reserved by Iceberg"), ("_kafka_offset", "Kafka coordinate"), ("a b", "cannot name")):
        with pytest.raises(DeclarationError, match=why):
            check_column_name("raw.birds", name)
    check_column_name("raw.birds", "file_path", nested=True)


def test_streams_and_topics() -> None:
    check_stream_name("birds")
    check_topic_name("birds", "shop.public.birds-2")
    with pytest.raises(DeclarationError, match="cannot name a stream"):
        check_stream_name("shop.birds")
    for topic in ("", "..", "a b", "x" * 250):
        with pytest.raises(DeclarationError, match="cannot name a topic"):
            check_topic_name("birds", topic)


def test_a_name_too_long_for_a_file_system_is_refused_with_the_limit() -> None:
    long = "x" * LONGEST_NAME
    assert table_identifier(f"{long}.{long}") == (long, long)
    check_stream_name(long)
    for name in (f"{long}x.birds", f"raw.{long}x"):
        with pytest.raises(DeclarationError, match=r"…' cannot name a namespace or table: it has 101.*at most 100"):
            table_identifier(name)
    with pytest.raises(DeclarationError, match=r"'x{20}…' cannot name a stream or release: it has 300.*at most 100"):
        check_stream_name("x" * 300)


def test_a_table_of_another_catalog_is_an_input_and_nothing_else() -> None:
    check_input_name("polaris-aws:raw.birds")
    check_input_name("raw.birds")
    with pytest.raises(DeclarationError, match=r"'azure:raw.birds' is a table of another catalog"):
        table_identifier("azure:raw.birds")
    for name in (":raw.birds", "lake:raw.birds", "a b:raw.birds", "azure:aws:raw.birds", "azure:birds"):
        with pytest.raises(DeclarationError, match=r"catalog's name|another catalog|cannot name a table"):
            check_input_name(name)
