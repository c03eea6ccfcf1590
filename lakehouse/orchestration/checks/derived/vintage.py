"""Vintage: is everything that a derived table was computed from of one version of each shared ancestor?"""

from collections.abc import Callable
from typing import Any

import dagster as dg

from lakehouse.declarations import Derived
from lakehouse.orchestration.checks.derived.question import CannotJudge, DerivedCheck, answering, findings, sentences
from lakehouse.orchestration.checks.table_question import TableCheckRun
from lakehouse.orchestration.resources.materialization import rows_shown
from lakehouse.proofs.lineage.vintage import Vintage, check_vintage

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
    found = check_vintage(question.load, {question.declared.name: question.snapshot_id})
    told = {"tables looked at": len({reading.table for reading in found.readings}), "versions read": _readings(found)}
    if found.broken:
        edited = [("seal_edited", text) for text in found.broken]
        text = f"{sentences(found.broken)} {question.repair}"
        return question.result(text, "seals", passed=False, told=told | findings(edited))
    told |= question.run_told()
    if found.differences:
        differ = [str(difference) for difference in found.differences]
        if question.backfill:
            text = f"Computed as a declared backfill ({question.backfill}) although {sentences(differ)}"
        else:
            text = f"{sentences(differ)} {_older(question, found)}{question.repaired_by(rebuild=found.rebuild)}"
        rows = [("vintage", text) for text in differ]
        return question.result(text, "seals", passed=False, told=told | findings(rows), warn=bool(question.backfill))
    if found.undecided:
        raise CannotJudge(
            f"{question.declared.name}: nobody can say whether it is of one vintage. {found.undecided[0]}",
            remedy=question.repair.removeprefix("To repair: "),
        )
    return question.result(_sound(found), "seals", passed=True, told=told)


def _older(question: DerivedCheck, found: Vintage) -> str:
    """Which partitions of the table are all that is missing, and how they are computed alone."""
    name = question.declared.name
    parts = list(dict.fromkeys(part for each in found.differences for part in each.older_parts(name)))
    if question.declared.partitions is None or not parts:
        return ""
    told = f"Computed from an older version: {', '.join(parts)} of {name}."
    day = question.seal.runtime_date
    return f"{told} Materialize in Dagster's UI computes them alone (run tag lakehouse/runtime_date={day}). "


def _sound(found: Vintage) -> str:
    tables = {reading.table for reading in found.readings[1:]}
    return f"{len(tables)} tables are above it, and each was read in one version."


def _readings(found: Vintage) -> dg.TableMetadataValue:
    rows: list[tuple[Any, ...]] = []
    for reading in found.readings:
        seal = reading.seal
        day, run = (seal.runtime_date or "dateless", seal.run_id) if seal else ("unknown", "unknown")
        rows.append((reading.table, reading.way, str(reading.snapshot_id), day, run))
    return rows_shown(_COLUMNS, rows)
