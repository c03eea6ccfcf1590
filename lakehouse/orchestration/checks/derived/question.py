"""What the checks of a derived table have in common: the run that computed it, its inputs, and how they are told."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import dagster as dg
import msgspec
from pyiceberg.table import Table

from lakehouse import seal_keys
from lakehouse.declarations import Derived
from lakehouse.errors import LakehouseError
from lakehouse.iceberg.names import identifier_of
from lakehouse.orchestration.checks.table_question import TableCheckRun
from lakehouse.orchestration.resources.materialization import rows_shown
from lakehouse.proofs.lineage.inputs import Given, inputs_of
from lakehouse.proofs.lineage.sealed import Derivation, made
from lakehouse.protocol.errors import SealBroken
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.derived.inputs import agreement

ANSWERED_FROM = "answered from"
_COLUMNS = {"input": "string", "runtime date": "string", "parameters": "string", "run": "string", "snapshot": "string"}
_SHOWN = 20


class CannotJudge(LakehouseError):
    """Nobody can say any more what a table was computed from."""


@dataclass(frozen=True)
class DerivedCheck:
    """One check of a derived table, in one run.

    Attributes:
        check_run: the lake, and the table at the snapshot that is judged.
        declared: how it is derived.
        name: of the check.
    """

    check_run: TableCheckRun
    declared: Derived
    name: str
    began: float = field(default_factory=time.monotonic)

    @property
    def snapshot_id(self) -> int | None:
        """Which snapshot is judged; None before the first run."""
        return self.check_run.pinned.snapshot_id

    def load(self, name: str) -> Table:
        """Any table; the one that is judged as it was pinned."""
        if name == self.declared.name:
            return self.check_run.pinned.table
        return self.check_run.lake.catalog.load_table(identifier_of(name))

    @cached_property
    def seal(self) -> Seal:
        """What the run said that computed the table.

        Raises:
            SealBroken: it was changed after it was written.
            CannotJudge: it has expired, or there never was one.
        """
        step = made(self.check_run.pinned.table, self.snapshot_id)
        if step.seal is None:
            why = "nobody sealed its rows" if step.known else "the seal of the run that computed it has expired"
            raise CannotJudge(
                f"{self.declared.name}, snapshot {self.snapshot_id}: {why}.",
                remedy=f"compute it anew: `lakehouse derive {self.declared.name}`",
            )
        return step.seal

    @cached_property
    def backfill(self) -> str:
        """Why a declared backfill was allowed to join inputs that differ; empty for none."""
        derivation = Derivation.of(self.seal)
        return derivation.differs if derivation else ""

    @cached_property
    def inputs(self) -> tuple[Given, ...]:
        """What was read."""
        return inputs_of(self.load, self.seal)

    @property
    def repair(self) -> str:
        """The command that computes the table and all above it anew, for its date and parameters if they are known."""
        return self.repaired_by()

    def repaired_by(self, *, rebuild: bool = False) -> str:
        """The same, which computes incremental tables from all rows if asked."""
        try:
            seal = self.seal
        except (SealBroken, CannotJudge):
            return f"To repair: compute it anew, by `lakehouse derive {self.declared.name} --upstream`."
        text = seal.statement.get(seal_keys.DERIVED_PARAMETERS, "{}")
        parameters = msgspec.json.decode(text, type=dict[str, bool | int | float | str])
        run = Attempt(seal.run_id, seal.step, runtime_date=seal.runtime_date)
        request = agreement.RunRequest(self.declared.name, run, parameters)
        return f"To repair: {agreement.repair(request, rebuild=rebuild, dates=self._dates())}"

    def _dates(self) -> set[str]:
        """That the inputs are of, as far as anybody can tell."""
        try:
            return {
                date for given in self.inputs for date in (given.runtime_date, *(p.runtime_date for p in given.parts))
            }
        except SealBroken:
            return set()

    def nothing_yet(self) -> dg.AssetCheckResult:
        """Before the first run."""
        return self.result(
            "Nothing was computed yet, so there is nothing to prove.", "no snapshot", passed=True, metadata={}
        )

    def result(
        self, description: str, answered_from: str, *, passed: bool, metadata: dict[str, Any], warn: bool = False
    ) -> dg.AssetCheckResult:
        """The result, with what every one of these checks tells.

        Args:
            description: what was found, for somebody who does not read code.
            answered_from: `manifests`, `seals`, a scan.
            passed: whether the promise is kept.
            metadata: further metadata.
            warn: a failure stops nothing.
        """
        return dg.AssetCheckResult(
            asset_key=self.check_run.key,
            check_name=self.name,
            passed=passed,
            severity=dg.AssetCheckSeverity.WARN if warn else dg.AssetCheckSeverity.ERROR,
            description=description,
            metadata={
                "snapshot id": str(self.snapshot_id or "none"),
                ANSWERED_FROM: answered_from,
                **metadata,
                "seconds": round(time.monotonic() - self.began, 3),
            },
        )

    def run_metadata(self) -> dict[str, Any]:
        """The run that computed the table, and its inputs, as metadata."""
        rows = [
            (g.table, g.runtime_date or "dateless", g.parameters or "-", g.run_id or "unknown", str(g.snapshot_id))
            for g in self.inputs
        ]
        metadata: dict[str, Any] = {
            "runtime date": self.seal.runtime_date or "none",
            "parameters": self.seal.parameters_digest or "none",
            "run": self.seal.run_id,
            "inputs": rows_shown(_COLUMNS, rows),
        }
        return metadata | ({"declared backfill": self.backfill} if self.backfill else {})


def answering(
    declared: Derived, name: str, answer: Callable[[DerivedCheck], dg.AssetCheckResult]
) -> Callable[[TableCheckRun], dg.AssetCheckResult]:
    """A judge's answer from one about a derived table that holds something."""

    def judge(check_run: TableCheckRun) -> dg.AssetCheckResult:
        question = DerivedCheck(check_run, declared, name)
        return question.nothing_yet() if question.snapshot_id is None else answer(question)

    return judge


def sentences(messages: Sequence[str]) -> str:
    """The first findings, and how many more there are."""
    more = f" And {len(messages) - 1} more, see the findings." if len(messages) > 1 else ""
    return f"{messages[0]}{more}"


def findings(rows: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Findings as a table of metadata, the first of many; nothing where there are none."""
    return {"findings": rows_shown({"kind": "string", "what is wrong": "string"}, rows[:_SHOWN])} if rows else {}
