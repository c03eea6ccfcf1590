"""What a step reads is the same until it ends, and it knows what it has read."""

import pytest
from pyiceberg.exceptions import NoSuchTableError
from pyspark.sql import types as T  # noqa: N812

from lakehouse.declarations import Declarations
from lakehouse.orchestration.resources.pins.step_reads import StepReads
from lakehouse.protocol.catalog import TableMissing, open_catalog
from lakehouse.steps.derived.inputs.pins import PIN_PREFIX
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import Lake


@pytest.fixture
def reads(sql_lake: Lake) -> StepReads:
    catalog = open_catalog(sql_lake.settings)
    return StepReads(lambda: catalog, lambda: Declarations({}, {}, {}))


def tags(lake: Lake, name: str) -> list[str]:
    return [ref for ref in lake.load(name).metadata.refs if ref.startswith(PIN_PREFIX)]


def test_a_table_is_the_same_twice_and_named_as_read(sql_lake: Lake, reads: StepReads) -> None:
    name = sql_lake.create("a")
    sql_lake.write("first", a=[1])
    first = reads.pin(name)[name].snapshot_id
    sql_lake.write("second", a=[2])
    assert reads.pin(name)[name].snapshot_id == first
    assert (dict(reads.snapshots), reads.at_pins) == ({name: first}, [name])
    assert tags(sql_lake, name) == [], "outside of a step nothing is tagged"


def test_a_table_that_is_not_there_is_named_with_what_may_have_been_meant(sql_lake: Lake) -> None:
    table = declare({"id": T.LongType()}, name="raw.flights")
    declarations = Declarations({table.name: table}, {}, {})
    reads = StepReads(lambda: sql_lake.catalog, lambda: declarations)
    with pytest.raises(TableMissing, match=r"There is no table raw\.flight\. Remedy: did you mean raw\.flights\?"):
        reads.pin("raw.flight")
    with pytest.raises(NoSuchTableError, match=r"raw\.flights is declared, and not made yet"):
        reads.pin("raw.flights")


def test_the_next_step_begins_with_nothing(sql_lake: Lake, reads: StepReads) -> None:
    name = sql_lake.create("a")
    sql_lake.write("first", a=[1])
    with reads.in_step("run", "first", 0):
        reads.pin(name)
        assert len(tags(sql_lake, name)) == 1
    with reads.in_step("run", "second", 0):
        reads.follow_step()
        assert (dict(reads.snapshots), tags(sql_lake, name)) == ({}, [])


def test_what_was_written_is_what_is_read_from_here_on(sql_lake: Lake, reads: StepReads) -> None:
    name = sql_lake.create("a")
    sql_lake.write("first", a=[1])
    with reads.in_step("run", "only", 0):
        first = reads.pin(name)[name].snapshot_id
        sql_lake.write("second", a=[2])
        reads.written(name)
        assert tags(sql_lake, name) == []
        assert reads.pin(name)[name].snapshot_id != first
        reads.let_go()
    assert tags(sql_lake, name) == []
