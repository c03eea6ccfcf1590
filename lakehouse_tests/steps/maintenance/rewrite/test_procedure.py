"""Around the procedure: what Spark is told, and that what goes wrong leaves no branch behind that expiry waits for.

Guarded mechanisms: partitions of another format are told apart; no partition is not the whole table; the branch goes
with a failure; without it there is nothing to publish. That Spark does as it is told, `test_compact.py` shows.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from pyiceberg.manifest import DataFileContent

from lakehouse.declarations import Maintenance, Rewrite
from lakehouse.iceberg.manifests.manifest_files import MeasuredFile
from lakehouse.protocol.cleanup.housekeeping import abandoned_branches, drop_branch
from lakehouse.steps.maintenance.model.action import Action, ActionOutcome, MaintenanceWork, Operation
from lakehouse.steps.maintenance.model.partition_filter import NotNameable, where
from lakehouse.steps.maintenance.model.preconditions import require_safe
from lakehouse.steps.maintenance.model.state import Partition
from lakehouse.steps.maintenance.rewrite import compact, procedure
from lakehouse.steps.maintenance.rewrite.procedure import (
    PROCEDURE,
    RewriteFailed,
    _kind_of,
    calls,
    files_to_rewrite,
    options_of,
)
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.protocol.commit.rewrites import append, create
from lakehouse_tests.steps.maintenance.rewrite.test_manifests import work_on

WHOLE = Action(operation=Operation.REWRITE)


@contextmanager
def no_spark() -> Iterator[Any]:
    yield None


def rewriting(lake: Lake) -> MaintenanceWork:
    """A table of two days, and what an operation is given of it."""
    name = create(lake)
    append(lake, name, {0: 1, 1: 2})
    return replace(work_on(lake, name), policy=Maintenance(rewrite=Rewrite(to_format="parquet")), session=no_spark)


def refs(work: MaintenanceWork) -> set[str]:
    return set(work.catalog.load_table(work.base.identifier).metadata.refs)


def file_as(format_: str) -> MeasuredFile:
    return MeasuredFile(True, 1, DataFileContent.DATA, format_, (), 1, 100)


def test_only_partitions_with_another_format_are_written_anew_as_a_whole(sql_lake: Lake) -> None:
    work = rewriting(sql_lake)
    assert work.policy.rewrite
    files = {(0, (1,)): [file_as("PARQUET")], (0, (2,)): [file_as("PARQUET"), file_as("AVRO")]}
    first, second = calls(work, WHOLE, work.policy.rewrite, files)
    assert "`day` = 1" in first
    assert "`day` = 2" not in first
    assert "rewrite-all" not in first
    assert "'rewrite-all', 'true'" in second
    assert "`day` = 1" not in second
    assert "`day` = 2" in second


def test_at_most_so_many_bytes(sql_lake: Lake) -> None:
    work = rewriting(sql_lake)
    assert work.policy.rewrite
    files = {(0, (1,)): [file_as("PARQUET")] * 30}
    (call,) = calls(work, replace(WHOLE, max_bytes=1000), work.policy.rewrite, files)
    assert "'max-files-to-rewrite', '10'" in call
    (call,) = calls(work, WHOLE, work.policy.rewrite, files)
    assert "max-files-to-rewrite" not in call


def test_the_files_of_the_partitions_that_are_named(sql_lake: Lake) -> None:
    work = rewriting(sql_lake)
    assert {place: len(files) for place, files in files_to_rewrite(work, WHOLE).items()} == {(0, (1,)): 1, (0, (2,)): 1}
    gone = replace(WHOLE, partitions=(Partition(key="gone", name="day=9"),))
    assert files_to_rewrite(work, gone) == {}


@pytest.mark.parametrize("max_bytes", [None, 1000])
def test_partitions_that_are_gone_are_not_the_whole_table(sql_lake: Lake, max_bytes: int | None) -> None:
    work = rewriting(sql_lake)
    gone = Action(operation=Operation.REWRITE, partitions=(Partition(key="gone", name="day=9"),), max_bytes=max_bytes)
    assert compact.run(work, gone).result == "nothing"
    with pytest.raises(ValueError, match="No partition"):
        where(work.base.table, [])


def test_what_spark_cannot_be_told_leaves_no_branch(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    work = rewriting(sql_lake)

    def unheard_of(*_: Any) -> str:
        raise NotNameable("a partition")

    monkeypatch.setattr(procedure, "where", unheard_of)
    with pytest.raises(NotNameable):
        compact.run(work, WHOLE)
    assert refs(work) == {"main"}


def while_spark_works(work: MaintenanceWork, monkeypatch: pytest.MonkeyPatch, do: Callable[[], None]) -> ActionOutcome:
    def works(*_: Any) -> None:
        assert len(refs(work)) == 2
        do()

    monkeypatch.setattr(compact, "run_calls", works)
    return compact.run(work, WHOLE)


def test_a_failure_of_spark_leaves_no_branch(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    work = rewriting(sql_lake)

    def fails() -> None:
        raise RewriteFailed("it could not", remedy="none")

    with pytest.raises(RewriteFailed):
        while_spark_works(work, monkeypatch, fails)
    assert refs(work) == {"main"}


def test_nothing_to_rewrite_leaves_no_branch(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    work = rewriting(sql_lake)
    assert while_spark_works(work, monkeypatch, lambda: None).result == "nothing"
    assert refs(work) == {"main"}


def test_a_branch_that_somebody_removed_is_not_nothing_to_do(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    work = rewriting(sql_lake)

    def housekeeping() -> None:
        for left in abandoned_branches(work.catalog.load_table(work.base.identifier), older_than=timedelta(0)):
            drop_branch(work.catalog, left)

    outcome = while_spark_works(work, monkeypatch, housekeeping)
    assert outcome.result == "overtaken"
    assert "was removed while files were rewritten" in outcome.message


def test_the_policy_in_the_words_of_the_procedure() -> None:
    rewrite = Rewrite(target_file_size=100_000, min_file_size_ratio=0.5, max_file_size_ratio=2.0, min_input_files=3)
    options = options_of(rewrite)
    require_safe(PROCEDURE, options)
    assert options == {
        "target-file-size-bytes": "100000",
        "min-file-size-bytes": "50000",
        "max-file-size-bytes": "200000",
        "min-input-files": "3",
        "delete-file-threshold": "1",
        "delete-ratio-threshold": "0.3",
        "max-file-group-size-bytes": str(2 * 1024**3),
        "partial-progress.enabled": "false",
        "remove-dangling-deletes": "true",
    }


def test_no_value_of_a_row_is_told() -> None:
    """Java's message shows the condition, and so the values of partitions."""
    error = Exception(
        "An error occurred while calling o50.sql.\n: org.apache.iceberg.exceptions.ValidationException: "
        "Cannot filter by name = 'secret'\n\tat java.lang.Thread.run"
    )
    assert _kind_of(error) == "org.apache.iceberg.exceptions.ValidationException"
    assert _kind_of(KeyError("secret")) == "KeyError"
