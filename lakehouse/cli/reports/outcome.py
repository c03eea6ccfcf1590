"""What came of the runs of one command, gathered from Dagster's events."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

import dagster as dg

from lakehouse.cli.exit_codes import COULD_NOT_RUN, PROMISE_BROKEN
from lakehouse.cli.reports.failure import reason
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES, DagsterNames


@dataclass
class Mirrored:
    """What the runs did to a mirror.

    Attributes:
        changes: that were folded.
        refused: changes that went to quarantine.
    """

    changes: int = 0
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    refused: int = 0

    def add(self, materialization: dg.AssetMaterialization) -> None:
        """Take in what one more step did."""
        self.changes += int(_number(materialization, "changes"))
        self.inserted += int(_number(materialization, "rows inserted"))
        self.updated += int(_number(materialization, "rows updated"))
        self.deleted += int(_number(materialization, "rows deleted"))
        self.refused += int(_number(materialization, "contradictions") + _number(materialization, "too late"))


@dataclass
class RunOutcome:
    """What the runs did, all rounds together.

    Attributes:
        added: table → rows that came to those before.
        written: table → rows that took the place of those before, as of a table that is computed anew.
        released: table of a release → its id.
        mirrored: mirror → what became of its rows.
        step_seconds: table → how long the steps took that wrote it.
        checks: table and check → the newest result.
        failures: step → what went wrong in it, unless a later run of the command made up for it.
        steps: that were tried.
        runs: ids, in order.
        skipped: whether a run left steps out, because what they wait for had nothing new.
    """

    added: dict[str, int] = field(default_factory=dict[str, int])
    written: dict[str, int] = field(default_factory=dict[str, int])
    released: dict[str, str] = field(default_factory=dict[str, str])
    mirrored: dict[str, Mirrored] = field(default_factory=dict[str, Mirrored])
    step_seconds: dict[str, float] = field(default_factory=dict[str, float])
    checks: dict[tuple[str, str], dg.AssetCheckEvaluation] = field(
        default_factory=dict[tuple[str, str], dg.AssetCheckEvaluation]
    )
    failures: dict[str, str] = field(default_factory=dict[str, str])
    steps: set[str] = field(default_factory=set[str])
    runs: list[str] = field(default_factory=list[str])
    skipped: bool = False
    seconds: float = 0.0
    names: DagsterNames = DEFAULT_NAMES

    @property
    def good(self) -> bool:
        """Whether every step succeeded and no check failed; a check that warns was allowed to by declaration."""
        return not self.failures and not self.failed_checks and bool(self.checks)

    @property
    def exit_code(self) -> int:
        """What the command ends with: a failed check is a broken promise, a failed step could not run."""
        if self.good:
            return 0
        return PROMISE_BROKEN if self.failed_checks else COULD_NOT_RUN

    @property
    def failed_checks(self) -> list[tuple[str, str]]:
        """Table and check, of those that failed and do not only warn."""
        return [
            key
            for key, check in self.checks.items()
            if not check.passed and check.severity is dg.AssetCheckSeverity.ERROR
        ]

    @property
    def asked(self) -> set[dg.AssetCheckKey]:
        """The checks that have a result."""
        return {check.asset_check_key for check in self.checks.values()}

    def as_data(self) -> dict[str, Any]:
        """The same for machines."""
        return {
            "good": self.good,
            "runs": self.runs,
            "rows_added": dict(sorted(self.added.items())),
            "rows_written": dict(sorted(self.written.items())),
            "released": dict(sorted(self.released.items())),
            "mirrors": {name: asdict(mirrored) for name, mirrored in sorted(self.mirrored.items())},
            "checks": [
                {
                    "table": table,
                    "check": name,
                    "passed": check.passed,
                    "severity": check.severity.value,
                    "description": check.description,
                }
                for (table, name), check in sorted(self.checks.items())
            ],
            "failures": dict(sorted(self.failures.items())),
        }

    def keep(self, verdicts: Iterable[dg.AssetCheckEvaluation]) -> None:
        """Take in what was said earlier, and stands."""
        for check in verdicts:
            self.checks[self.names.table(check.asset_key), check.check_name] = check

    def add(self, result: dg.ExecuteInProcessResult) -> None:
        """Take in what one more run did."""
        self.runs.append(result.run_id)
        self.steps |= {str(event.step_key) for event in result.filter_events(lambda event: event.is_step_start)}
        self.skipped |= bool(result.filter_events(lambda event: event.is_step_skipped))
        for event in result.get_asset_materialization_events():
            materialization = event.materialization
            name = self.names.table(materialization.asset_key)
            added = _number(materialization, "rows added") + _number(materialization, "rows inserted")
            if "rows written" in materialization.metadata:
                self.written[name] = int(_number(materialization, "rows written"))
            else:
                self.added[name] = self.added.get(name, 0) + int(added)
            self.step_seconds[name] = self.step_seconds.get(name, 0) + _number(materialization, "seconds")
            if (release := materialization.metadata.get("release")) is not None:
                self.released[name] = str(release.value)
            if "rows updated" in materialization.metadata:
                self.mirrored.setdefault(name, Mirrored()).add(materialization)
        for check in result.get_asset_check_evaluations():
            self.checks[self.names.table(check.asset_key), check.check_name] = check
        for event in result.get_step_failure_events():
            self.failures[event.step_key or "?"] = reason(event.step_failure_data)
        for event in result.filter_events(lambda event: event.is_step_success):
            self.failures.pop(str(event.step_key), None)


def _number(materialization: dg.AssetMaterialization, name: str) -> float:
    value = materialization.metadata.get(name)
    return float(str(value.value)) if value is not None else 0.0
