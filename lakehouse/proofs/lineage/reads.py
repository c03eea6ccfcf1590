"""Three accounts of what a derived table reads, which have to agree.

What is declared (and shown by Dagster as dependencies), what the seal says was pinned for the run, and what Spark's
plan says was scanned. A table that only one of them names is a dependency that nobody sees, or one that is none.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from lakehouse.proofs.lineage.sealed import Derivation
from lakehouse.protocol.seals.seal import Seal

LineageFindingKind = Literal[
    "undeclared_read", "unused_input", "read_by_name", "other_snapshot", "not_sealed", "declared_since", "no_statement"
]


@dataclass(frozen=True)
class LineageFinding:
    """A table on which the accounts do not agree."""

    kind: LineageFindingKind
    input: str
    message: str


@dataclass(frozen=True)
class LineageReport:
    """The three accounts.

    Args:
        declared: tables, as declared now.
        sealed: table → snapshot that was pinned for the run.
        scanned: table or other source → snapshot by the plan; 0 where it names none.
    """

    declared: tuple[str, ...]
    sealed: Mapping[str, int]
    scanned: Mapping[str, int]
    findings: tuple[LineageFinding, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether they agree."""
        return not self.findings


def check_lineage(declared: Iterable[str], seal: Seal) -> LineageReport:
    """Compare declared inputs with what a seal says was pinned and scanned.

    Args:
        declared: tables that the declaration of the derived table names.
        seal: of the run that computed it.
    """
    now = tuple(declared)
    derivation = Derivation.of(seal)
    if derivation is None:
        message = f"run {seal.run_id} ({seal.kind}) wrote the table and does not say what it scanned"
        return LineageReport(now, seal.inputs, {}, (LineageFinding("no_statement", "", f"{message}."),))
    then = set(derivation.declared.values())
    findings = [
        *(_scanned(name, snapshot, seal.inputs, then) for name, snapshot in sorted(derivation.scanned.items())),
        *(_declared(name, seal.inputs, derivation.scanned) for name in sorted(then)),
        *(_change_since(name, then) for name in sorted(then ^ set(now))),
        *(_only_sealed(name) for name in sorted(seal.inputs.keys() - then)),
    ]
    return LineageReport(
        now, seal.inputs, derivation.scanned, tuple(finding for finding in findings if finding is not None)
    )


def _scanned(name: str, snapshot: int, sealed: Mapping[str, int], declared: set[str]) -> LineageFinding | None:
    if name not in declared:
        return LineageFinding("undeclared_read", name, f"the function reads {name}, which is not among its inputs.")
    if name not in sealed:
        return None  # told of the declaration
    if not snapshot:
        message = (
            f"the function reads {name} without naming a snapshot, so it may be another version than the pinned one."
        )
        return LineageFinding("read_by_name", name, message)
    if snapshot != sealed[name]:
        message = f"the function reads {name} at snapshot {snapshot}, but {sealed[name]} was pinned for its run."
        return LineageFinding("other_snapshot", name, message)
    return None


def _declared(name: str, sealed: Mapping[str, int], scanned: Mapping[str, int]) -> LineageFinding | None:
    if name not in sealed:
        return LineageFinding(
            "not_sealed", name, f"{name} is an input, and the seal does not say which snapshot of it."
        )
    if name not in scanned:
        return LineageFinding("unused_input", name, f"{name} is declared as an input, and the function never reads it.")
    return None


def _change_since(name: str, then: set[str]) -> LineageFinding:
    change = "no longer an input" if name in then else "an input now"
    message = f"{name} is {change}, and the table was computed before the declaration changed."
    return LineageFinding("declared_since", name, message)


def _only_sealed(name: str) -> LineageFinding:
    return LineageFinding("not_sealed", name, f"the seal names {name}, which was not declared when it was written.")
