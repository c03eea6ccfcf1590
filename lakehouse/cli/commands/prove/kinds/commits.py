"""`lakehouse audit` of tables that an asset writes by itself, and of our own: who wrote to them?

Streams, mirrors, derived tables and releases ask this in proofs of their own. A table that no step ever sealed is
somebody else's to write.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from lakehouse import seal_keys
from lakehouse.cli.commands.prove.audit_scope import Auditing, Kind, show_nothing, stream_tables
from lakehouse.declarations import Declarations
from lakehouse.proofs.audit import Finding, FindingsDecide
from lakehouse.proofs.audit.chain import unsealed_findings
from lakehouse.protocol.seals.history import ancestry, head_of, summary_of
from lakehouse.protocol.seals.lost_main import lost_main


@dataclass(frozen=True)
class CommitsProof(FindingsDecide):
    """The proof of one table."""

    table: str
    findings: tuple[Finding, ...] = ()


def _prove(auditing: Auditing, name: str) -> CommitsProof:
    if (table := auditing.tables.load(name)) is None:
        return CommitsProof(name)
    if lost := lost_main(table):
        return CommitsProof(name, (Finding("no_main", lost, name),))
    head = head_of(table)
    if not any(seal_keys.VERSION in summary_of(snapshot) for snapshot in ancestry(table, head)):
        return CommitsProof(name)
    return CommitsProof(name, tuple(unsealed_findings(table, head)))


def _names(declared: Declarations) -> Iterator[str]:
    """Tables whose commits no other kind asks about."""
    asked = stream_tables(declared) | {table.name for mirror in declared.mirrors.values() for table in mirror.tables}
    asked |= {*declared.derived, *(release.pointer for release in declared.releases.values())}
    return (name for name in sorted(declared.tables) if name not in asked)


COMMITS = Kind("commits", _names, _prove, show_nothing)
