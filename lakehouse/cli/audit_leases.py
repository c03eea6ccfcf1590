"""`lakehouse audit` of what old snapshots are kept for: can everybody who reads on from one still do so?"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from pyiceberg.exceptions import NoSuchTableError
from rich.table import Column, Table

from lakehouse.audit import Finding
from lakehouse.cli.auditing import Auditing, Kind, show_finding
from lakehouse.cli.context import Context
from lakehouse.maintenance.consumers import can_plan
from lakehouse.maintenance.holders import holders_of
from lakehouse.maintenance.overdue import late, warning
from lakehouse.tables import Declarations


@dataclass(frozen=True)
class LeaseProof:
    """The proof of one table.

    Args:
        table: that others read in ranges, or that is released.
        holders: who holds old snapshots of it.
        findings: who cannot read on.
        overdue: leases that should have been renewed or ended: no broken promise, and not as it should be.
    """

    table: str
    holders: int = 0
    findings: tuple[Finding, ...] = ()
    overdue: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether everybody can read on."""
        return not self.findings

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {**asdict(self), "holds": self.holds}


def _prove(auditing: Auditing, name: str) -> LeaseProof:
    try:
        table = auditing.catalog.load_table(tuple(name.split(".")))
    except NoSuchTableError:  # nobody has read what is not there
        return LeaseProof(name)
    found, now = holders_of(auditing.catalog, auditing.declared, table), datetime.now(UTC)
    return LeaseProof(
        table=name,
        holders=len(found),
        findings=tuple(
            Finding("cut_off", f"{one.kind} {one.name} cannot read on: {one.message} {one.remedy}".strip(), name)
            for one in can_plan(auditing.catalog, auditing.declared, name)
        ),
        overdue=tuple(warning(holder, now) for holder in late(found, now)),
    )


def _show(context: Context, proofs: Sequence[LeaseProof]) -> None:
    lines = Table(
        Column("table", no_wrap=True),
        Column("holders", justify="right"),
        Column("can read on", no_wrap=True),
        title="Old snapshots, and who needs them",
        title_justify="left",
    )
    for proof in proofs:
        lines.add_row(proof.table, str(proof.holders), "all" if proof.holds else f"not {len(proof.findings)}")
    context.out.print(lines)
    for proof in proofs:
        for told in proof.overdue:
            context.out.print(f"{proof.table}: {told}", highlight=False, markup=False, soft_wrap=True)
        for finding in proof.findings:
            show_finding(context, finding)


def _names(declared: Declarations) -> Iterator[str]:
    """Tables that somebody reads in ranges, or that are released."""
    yield from sorted(
        {tables.changelog.name for tables in declared.mirrors.values()}
        | {one.inputs[one.follows] for one in declared.derived.values() if one.follows is not None}
        | {member for release in declared.releases.values() for member in release.members}
    )


LEASES = Kind("leases", _names, _prove, _show)
