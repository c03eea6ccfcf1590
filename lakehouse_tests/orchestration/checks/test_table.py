"""Each question about a table is answered for itself: one that cannot be answered silences no other."""

from types import SimpleNamespace
from typing import Any, cast

import dagster as dg
import pytest

from lakehouse.errors import LakehouseError
from lakehouse.orchestration.checks.table import ChecksUnanswered, _answers
from lakehouse.orchestration.checks.table_question import Judge, TableCheckRun

ASKED = cast("TableCheckRun", SimpleNamespace(table=SimpleNamespace(name="raw.things")))


def _passes(_: TableCheckRun) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=True)


def _raises(_: TableCheckRun) -> Any:
    raise LakehouseError("the snapshot is gone")


def _judges(*answers: Any) -> list[Judge]:
    return [Judge(f"question_{place}", "", answer) for place, answer in enumerate(answers)]


def test_what_comes_after_an_unanswered_question_is_answered() -> None:
    answers, told = _answers(ASKED, _judges(_raises, _passes, _passes)), []
    with pytest.raises(LakehouseError, match="the snapshot is gone"):
        told.extend(answers)
    assert len(told) == 2


def test_several_unanswered_questions_are_named() -> None:
    with pytest.raises(ChecksUnanswered, match=r"2 checks could not be answered(?s:.*)question_0(?s:.*)question_2"):
        list(_answers(ASKED, _judges(_raises, _passes, _raises)))
