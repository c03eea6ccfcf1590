"""Each question about a table is answered for itself: one that cannot be answered silences no other."""

from types import SimpleNamespace
from typing import Any, cast

import dagster as dg
import pandera.pyspark as pa
import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse.declarations import Declarations, Rows
from lakehouse.errors import LakehouseError
from lakehouse.orchestration.checks.judged_state import known_state, pinned_tables, state_of
from lakehouse.orchestration.checks.table_checks import ChecksUnanswered, _answers, table_checks
from lakehouse.orchestration.checks.table_question import Judge, TableCheckRun
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import Lake

ASKED = cast("TableCheckRun", SimpleNamespace(table=SimpleNamespace(name="raw.things")))


def _passes(_: TableCheckRun) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=True)


def _raises(_: TableCheckRun) -> Any:
    raise LakehouseError("the snapshot is gone")


def _judges(*answers: Any) -> list[Judge]:
    return [Judge(f"question_{place}", "", answer) for place, answer in enumerate(answers)]


def test_what_comes_after_an_unanswered_question_is_answered() -> None:
    answers, collected = _answers(ASKED, _judges(_raises, _passes, _passes)), []
    with pytest.raises(LakehouseError, match="the snapshot is gone"):
        collected.extend(answers)
    assert len(collected) == 2


def test_several_unanswered_questions_are_named() -> None:
    with pytest.raises(ChecksUnanswered, match=r"2 checks could not be answered(?s:.*)question_0(?s:.*)question_2"):
        list(_answers(ASKED, _judges(_raises, _passes, _raises)))


def test_each_verdict_says_of_which_state_it_is(sql_lake: Lake) -> None:
    """By that `lakehouse run` keeps it; without, all rows were read anew each time."""
    name = sql_lake.create("a")
    sql_lake.write("first", a=[1])
    table = declare({"n": pa.Column(T.LongType())}, name=name, expects=(Rows(least=1),))
    declared = Declarations({name: table}, {}, {})
    checks = table_checks(table, declared)
    assert checks is not None
    ours: Any = SimpleNamespace(names=DEFAULT_NAMES, declarations=declared, catalog=sql_lake.catalog)
    job = dg.Definitions(
        asset_checks=[checks],
        jobs=[dg.define_asset_job("judge", dg.AssetSelection.checks(checks))],
        resources={"lake": ours, "spark": cast("Any", SimpleNamespace())},
    ).resolve_job_def("judge")
    [verdict] = job.execute_in_process().get_asset_check_evaluations()
    pinned = pinned_tables(sql_lake.catalog, [name])
    assert verdict.passed
    assert set(known_state(verdict)) == {"declared", name}
    assert known_state(verdict)[name] == state_of(pinned[name])
