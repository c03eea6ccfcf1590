"""A stream names the tables that it cannot write, so that only they are left out."""

from pathlib import Path

import pytest
from pyspark.sql import types as T  # noqa: N812

from lakehouse import Evolution, JsonSchema, Protobuf, Stream, ToTable
from lakehouse.declarations.registry.broken import Contradiction, Culprits
from lakehouse.declarations.registry.joining import Collected
from lakehouse_tests.declarations.declaring import declare

FILE = Path("house/things.py")


def stream(name: str, table: str) -> Stream:
    return Stream(name=name, topic=name, route=ToTable(table))


def test_a_stream_into_a_table_that_nobody_declares_says_which() -> None:
    collected = Collected()
    collected.add(stream("first", "raw.things"), FILE)
    with pytest.raises(Contradiction) as refused:
        collected.joined()
    assert refused.value.missing == "raw.things"
    assert refused.value.culprits.streams == {"first"}


def test_a_table_that_is_overwritten_takes_no_records() -> None:
    collected, table = Collected(), declare({"id": T.LongType()}, write_mode="overwrite")
    collected.add(table, FILE)
    collected.add(stream("first", table.name), FILE)
    with pytest.raises(Contradiction, match="whose write mode is overwrite") as refused:
        collected.joined()
    assert refused.value.culprits == Culprits(streams=frozenset({"first"}), tables=frozenset({table.name}))


@pytest.mark.parametrize("form", [JsonSchema(registry=True), Protobuf(registry=True)])
def test_a_table_follows_no_records_of_which_nothing_is_known_to_follow(form: JsonSchema | Protobuf) -> None:
    collected, table = Collected(), declare({"id": T.LongType()}, evolution=Evolution())
    collected.add(table, FILE)
    collected.add(Stream(name="first", topic="t", route=ToTable(table.name), format=form), FILE)
    with pytest.raises(Contradiction, match=rf"{table.name} has an evolution, and stream first reads its records as"):
        collected.joined()
