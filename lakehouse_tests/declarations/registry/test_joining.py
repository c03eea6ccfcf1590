"""A rule between declarations that is broken names those at fault, so that only they are left out."""

from pathlib import Path

import pytest
from pyspark.sql import types as T  # noqa: N812

from lakehouse import Stream, ToTable
from lakehouse.declarations.registry.broken import Contradiction, Culprits
from lakehouse.declarations.registry.joining import Collected
from lakehouse_tests.declarations.declaring import declare

FILE = Path("house/things.py")


def stream(name: str, table: str) -> Stream:
    return Stream(name=name, topic=name, route=ToTable(table))


def test_two_streams_into_one_table_are_both_at_fault() -> None:
    collected, table = Collected(), declare({"id": T.LongType()})
    for item in (table, stream("first", table.name), stream("second", table.name)):
        collected.add(item, FILE)
    with pytest.raises(Contradiction, match=table.name) as refused:
        collected.joined()
    assert refused.value.culprits == Culprits(streams=frozenset({"first", "second"}))


def test_a_name_that_is_taken_is_at_fault_at_once() -> None:
    collected, table = Collected(), declare({"id": T.LongType()})
    collected.add(table, FILE)
    with pytest.raises(Contradiction, match=str(FILE)):
        collected.add(table, FILE)
