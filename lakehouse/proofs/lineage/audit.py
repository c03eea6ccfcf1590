"""Everything that a derived table can prove of itself, at once: what `lakehouse audit` shows."""

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from typing import Any

from pyiceberg.table import Table

from lakehouse import seal_keys
from lakehouse.declarations import Derived
from lakehouse.iceberg.names import table_name
from lakehouse.proofs.lineage.dates import DatesReport, check_dates, foreign_commits
from lakehouse.proofs.lineage.inputs import Given, disagreements, inputs_of
from lakehouse.proofs.lineage.reads import check_lineage
from lakehouse.proofs.lineage.sealed import DERIVE, Derivation, Made, made
from lakehouse.proofs.lineage.vintage import check_vintage
from lakehouse.protocol.damage.attempted import Attempted
from lakehouse.protocol.errors import SealBroken
from lakehouse.protocol.seals.history import head_of
from lakehouse.protocol.seals.lost_main import lost_main
from lakehouse.protocol.seals.row_count import rows_by_summary


@dataclass(frozen=True)
class Broken:
    """A promise that a derived table does not keep.

    Args:
        kind: short and stable, for machines: `date_…`, `input_…`, `vintage`, `lineage_…`, `rows_differ`, `no_main`,
            `missing_file` or `unreadable_file`.
    """

    kind: str
    message: str


@dataclass(frozen=True)
class DerivedProof:
    """The proof of one derived table.

    Args:
        snapshot_id: what was judged; None before the first run.
        runtime_date: of the run that computed it.
        run_id: that run.
        findings: every broken promise.
        backfill: why a declared backfill was allowed to join inputs that differ; empty for none.
        differing: in what they differ.
        undecided: what nobody can tell any more, or what kept a part of the proof from being carried out.
    """

    table: str
    snapshot_id: int | None = None
    runtime_date: str = ""
    run_id: str = ""
    dates: DatesReport | None = None
    inputs: tuple[Given, ...] = ()
    readings: int = 0
    findings: tuple[Broken, ...] = ()
    backfill: str = ""
    differing: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether no promise is broken."""
        return not self.findings

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        dates = self.dates
        return {
            "table": self.table,
            "holds": self.holds,
            "snapshot_id": self.snapshot_id,
            "runtime_date": self.runtime_date,
            "run_id": self.run_id,
            "findings": [asdict(finding) for finding in self.findings],
            "files": dates.files if dates else 0,
            "rows": dates.rows if dates else 0,
            "dates_decided_by": dates.decided_by if dates else "empty",
            "dates": [day.isoformat() for day in dates.expected] if dates else [],
            "files_beyond_seals": {day.isoformat(): n for day, n in dates.beyond_seals.items()} if dates else {},
            "inputs": [asdict(source) for source in self.inputs],
            "readings": self.readings,
            "backfill": self.backfill,
            "differing": list(self.differing),
            "undecided": list(self.undecided),
            "seconds": self.seconds,
        }


def audit_derived(load: Callable[[str], Table], declared: Derived) -> DerivedProof:
    """Prove the runtime date, vintage and lineage of what `main` of a derived table holds.

    Args:
        load: gives a table by its name.
        declared: how the table is derived.

    What cannot be read, or told any more, keeps nothing else from being found.

    Raises:
        NoSuchTableError: the table does not exist.
    """
    started = time.monotonic()
    loaded = cache(load)
    table = loaded(declared.name)
    if (snapshot_id := head_of(table)) is None:
        lost = lost_main(table)
        return DerivedProof(declared.name, findings=(Broken("no_main", lost),) if lost else ())
    attempted, heads = Attempted(), [(table, snapshot_id)]
    step = cache(partial(made, table, snapshot_id))
    foreign = attempted.part("its commits", heads, partial(foreign_commits, table, snapshot_id), [])
    dates = attempted.part(
        f"the dates of {declared.name}", heads, partial(check_dates, table, snapshot_id, declared), None
    )
    date_findings = dict.fromkeys((*(dates.findings if dates else ()), *foreign))
    findings = [Broken(f"date_{finding.kind}", finding.message) for finding in date_findings]
    proof = attempted.part(
        f"what {declared.name} was computed from",
        heads,
        partial(_of_seal, loaded, declared, snapshot_id, step),
        DerivedProof(declared.name, snapshot_id),
    )
    findings += [Broken(damage.kind, damage.message) for damage in attempted.damages if damage.lost]
    if dates is not None and not foreign:
        findings += attempted.part(
            f"the rows of {declared.name}", heads, partial(_rows, table, snapshot_id, dates, step), []
        )
    return replace(
        proof,
        dates=dates,
        findings=tuple(dict.fromkeys((*findings, *proof.findings))),
        undecided=(*proof.undecided, *attempted.errors),
        seconds=round(time.monotonic() - started, 3),
    )


def _rows(table: Table, snapshot_id: int, dates: DatesReport, newest: Callable[[], Made]) -> list[Broken]:
    """The rows that manifests list against those that the newest run says it left; deletes leave that open."""
    try:
        snapshot, step = table.metadata.snapshot_by_id(snapshot_id), newest()
    except SealBroken:  # a finding of its own
        return []
    total = step.seal.statement.get(seal_keys.DERIVED_TOTAL, "") if step.seal is not None else ""
    if snapshot is None or rows_by_summary(snapshot) is None or not total.isdecimal() or int(total) == dates.rows:
        return []
    name = table_name(table)
    message = f"{name}: its files list {dates.rows:,} rows, and the run that wrote it left {int(total):,}."
    return [Broken("rows_differ", message)]


def _of_seal(
    load: Callable[[str], Table], declared: Derived, snapshot_id: int, newest: Callable[[], Made]
) -> DerivedProof:
    try:
        return _of_step(load, declared, snapshot_id, newest())
    except SealBroken as broken:
        return DerivedProof(declared.name, snapshot_id, findings=(Broken("seal_edited", broken.message),))


def _of_step(load: Callable[[str], Table], declared: Derived, snapshot_id: int, step: Made) -> DerivedProof:
    """What depends on the seal of the run that computed the table."""
    if step.seal is None:
        expired = () if step.known else (f"the seal of snapshot {snapshot_id} has expired.",)
        missing = (Broken("lineage_no_statement", "nobody said what the table was computed from."),)
        return DerivedProof(declared.name, snapshot_id, findings=missing if step.known else (), undecided=expired)
    seal, derivation = step.seal, Derivation.of(step.seal)
    lineage = check_lineage(declared.inputs.values(), seal)
    vintage = check_vintage(load, {declared.name: snapshot_id})
    inputs = inputs_of(load, seal)
    differ = [
        Broken("input_disagrees", f"{message}; this table is of {seal.runtime_date}.")
        for message in disagreements(seal, inputs)
    ]
    differ += [Broken("vintage", str(difference)) for difference in vintage.differences]
    broken = [Broken(f"lineage_{finding.kind}", finding.message) for finding in lineage.findings]
    if seal.kind == DERIVE and seal.step != (own_step := f"{DERIVE}:{declared.name}"):
        message = f"it holds what step {seal.step} made, not {own_step}: it was renamed, or swapped with another."
        broken.append(Broken("lineage_other_table", message))
    broken += [Broken("seal_edited", message) for message in vintage.broken]
    backfill = derivation.differs if derivation else ""
    return DerivedProof(
        table=declared.name,
        snapshot_id=snapshot_id,
        runtime_date=seal.runtime_date,
        run_id=seal.run_id,
        inputs=inputs,
        readings=len(vintage.readings),
        findings=tuple(broken if backfill else (*broken, *differ)),
        backfill=backfill,
        differing=tuple(difference.message for difference in differ) if backfill else (),
        undecided=tuple(map(str, vintage.undecided)),
    )
