"""No part of a proof ends another: what keeps it from its end is written down beside what the others find."""

from pathlib import Path

import pytest

from lakehouse.protocol.damage.attempted import Attempted
from lakehouse.protocol.errors import CommitError
from lakehouse.protocol.seals.history import head_of
from lakehouse_tests.fixtures.lakes import Lake


def fails() -> int:
    raise ValueError("nobody knows why")


def refuses() -> int:
    raise CommitError("it says of itself what is wrong")


def test_a_part_that_fails_ends_no_other() -> None:
    attempted = Attempted()
    assert attempted.part("one", [], lambda: 1, 0) == 1
    assert attempted.part("two", [], fails, 0) == 0
    assert attempted.part("three", [], refuses, 0) == 0
    assert attempted.part("four", [], lambda: 4, 0) == 4
    assert attempted.damages == []
    assert attempted.errors == [
        "two could not be proven: ValueError: nobody knows why.",
        "it says of itself what is wrong",
    ]


@pytest.mark.slow
def test_a_file_that_cannot_be_read_is_the_reason(sql_lake: Lake) -> None:
    name = sql_lake.create("a")
    sql_lake.write("first", a=[1, 2])
    table, attempted = sql_lake.load(name), Attempted()
    (task,) = table.scan().plan_files()
    path = Path(task.file.file_path.removeprefix("file://"))
    path.write_bytes(path.read_bytes()[:-40])
    assert attempted.part("rows", [(table, head_of(table))], fails, 0) == 0
    assert [(damage.kind, damage.table) for damage in attempted.damages] == [("unreadable_file", name)]
    assert attempted.errors == [], "the file is the reason"
