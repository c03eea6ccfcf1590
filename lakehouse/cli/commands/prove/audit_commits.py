"""`lakehouse audit` of tables that an asset writes by itself, and of our own: who wrote to them?

Streams, mirrors, derived tables and releases ask this in proofs of their own. A table that no step ever sealed is
somebody else's to write.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyiceberg.exceptions import NoSuchTableError

from lakehouse import seal_keys
from lakehouse.cli.commands.prove.audit_scope import Auditing, Kind, show_finding
from lakehouse.cli.context import Context
from lakehouse.declarations import Declarations
from lakehouse.iceberg.names import identifier_of
from lakehouse.proofs.audit import Finding, FindingsDecide
from lakehouse.protocol.seals.covered import in_words, unsealed_commits
from lakehouse.protocol.seals.history import ancestry, head_of, summary_of


@dataclass(frozen=True)
class CommitsProof(FindingsDecide):
    """The proof of one table."""

    table: str
    findings: tuple[Finding, ...] = ()


def _prove(auditing: Auditing, name: str) -> CommitsProof:
    try:
        table = auditing.catalog.load_table(identifier_of(name))
    except NoSuchTableError:  # nobody wrote to what is not there
        return CommitsProof(name)
    head = head_of(table)
    if not any(seal_keys.VERSION in summary_of(snapshot) for snapshot in ancestry(table, head)):
        return CommitsProof(name)
    messages = [
        f"{name}: {in_words(commit)} came from outside the protocol." for commit in unsealed_commits(table, head)
    ]
    return CommitsProof(name, tuple(Finding("unsealed_commit", message, name) for message in messages))


def _show(context: Context, proofs: Sequence[CommitsProof]) -> None:
    for proof in proofs:
        for finding in proof.findings:
            show_finding(context, finding)


def _names(declared: Declarations) -> Iterator[str]:
    """Tables whose commits no other kind asks about."""
    asked = {name for stream in declared.streams.values() for name in (*stream.tables, stream.quarantine_table)}
    asked |= {table.name for mirror in declared.mirrors.values() for table in mirror.tables}
    asked |= {*declared.derived, *(release.pointer for release in declared.releases.values())}
    return (name for name in sorted(declared.tables) if name not in asked)


COMMITS = Kind("commits", _names, _prove, _show)
