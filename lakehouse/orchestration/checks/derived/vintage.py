"""Vintage: is everything that a derived table was computed from of one version of each shared ancestor?"""

from collections.abc import Callable
from typing import Any

import dagster as dg

from lakehouse.declarations import Derived
from lakehouse.orchestration.checks.derived.question import CannotJudge, DerivedCheck, answering, findings, sentences
from lakehouse.orchestration.checks.table_question import TableCheckRun
from lakehouse.orchestration.resources.materialization import rows_shown
from lakehouse.proofs.lineage.vintage import Vintage, check_vintage
from lakehouse.quantities import quantity

NAME = "vintage"
DESCRIPTION = (
    "All tables that this one was computed from, however far up, have read the same version of every table that they "
    "share. Answered from the seals alone. Compactions and commits without rows make no new version."
)
_COLUMNS = {
    "table": "string",
    "read by way of": "string",
    "snapshot": "string",
    "runtime date": "string",
    "run": "string",
}


def judge(declared: Derived) -> Callable[[TableCheckRun], dg.AssetCheckResult]:
    """The answer for one derived table."""
    return answering(declared, NAME, _answer)


def _answer(question: DerivedCheck) -> dg.AssetCheckResult:
    assert question.snapshot_id is not None
    vintage = check_vintage(question.load, {question.declared.name: question.snapshot_id})
    metadata = {
        "tables looked at": len({reading.table for reading in vintage.readings}),
        "versions read": _readings(vintage),
    }
    if vintage.broken:
        edited = [("seal_edited", text) for text in vintage.broken]
        text = f"{sentences(vintage.broken)} {question.repair}"
        return question.result(text, "seals", passed=False, metadata=metadata | findings(edited))
    metadata |= question.run_metadata()
    if vintage.differences:
        differ = [str(difference) for difference in vintage.differences]
        if question.backfill:
            text = f"Computed as a declared backfill ({question.backfill}) although {sentences(differ)}"
        else:
            text = f"{sentences(differ)} {_older(question, vintage)}{question.repaired_by(rebuild=vintage.rebuild)}"
        rows = [("vintage", text) for text in differ]
        return question.result(
            text, "seals", passed=False, metadata=metadata | findings(rows), warn=bool(question.backfill)
        )
    if vintage.undecided:
        raise CannotJudge(
            f"{question.declared.name}: nobody can say whether it is of one vintage. {vintage.undecided[0]}",
            remedy=question.repair.removeprefix("To repair: "),
        )
    return question.result(_sound(vintage), "seals", passed=True, metadata=metadata)


def _older(question: DerivedCheck, vintage: Vintage) -> str:
    """Which partitions of the table are all that is missing, and how they are computed alone."""
    name = question.declared.name
    parts = list(dict.fromkeys(part for difference in vintage.differences for part in difference.older_parts(name)))
    if question.declared.partitions is None or not parts:
        return ""
    sentence = f"Computed from an older version: {', '.join(parts)} of {name}."
    day = question.seal.runtime_date
    return f"{sentence} Materialize in Dagster's UI computes them alone (run tag lakehouse/runtime_date={day}). "


def _sound(vintage: Vintage) -> str:
    tables = {reading.table for reading in vintage.readings[1:]}
    return f"{quantity(len(tables), 'table')} above it, each read in one version."


def _readings(vintage: Vintage) -> dg.TableMetadataValue:
    rows: list[tuple[Any, ...]] = []
    for reading in vintage.readings:
        seal = reading.seal
        day, run = (seal.runtime_date or "dateless", seal.run_id) if seal else ("unknown", "unknown")
        rows.append((reading.table, reading.path_text, str(reading.snapshot_id), day, run))
    return rows_shown(_COLUMNS, rows)
