"""Records become rows of their table, or have the reason why not."""

from pathlib import Path

from lakehouse.steps.ingest.workers.task_counts import TaskCounts
from lakehouse.steps.ingest.workers.work import make_task
from lakehouse_tests.steps.ingest.workers.tasks import TABLE, records, work_on_things


def test_each_record_is_a_row_or_has_its_error(tmp_path: Path) -> None:
    sorter = make_task(work_on_things(tmp_path), set()).sorter
    rows, errors = sorter.sort(records({"id": 1}, None, {"id": -1}, {"id": 4}))
    assert [(table, part.to_pylist()) for table, part in rows] == [(TABLE, [{"id": 1}, {"id": 4}])]
    assert {row: error.error_class for row, error in errors.items()} == {1: "not_json", 2: "rule"}
    assert sorter.judge(records({"id": 1}, None)).keys() == {1}


def test_the_rows_that_a_table_gets_are_named(tmp_path: Path) -> None:
    sorter = make_task(work_on_things(tmp_path), set()).sorter
    [(table, rows, _)] = sorter.parts(records(None, {"id": 1}, {"id": 2}), {}, TaskCounts())
    assert (table, rows.tolist() if rows is not None else None) == (TABLE, [1, 2])
    [(_, all_of_them, _)] = sorter.parts(records({"id": 1}), {}, TaskCounts())
    assert all_of_them is None
