"""What the kinds of proof of `lakehouse audit` have in common."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

from pyiceberg.typedef import Identifier

from lakehouse.cli.commands.prove.audit_tables import AuditTables
from lakehouse.cli.context import Context
from lakehouse.declarations import Declarations
from lakehouse.proofs.audit import Finding
from lakehouse.protocol.catalog import Entry, LakeCatalog
from lakehouse.protocol.cleanup.shared_files import shared_among


class AuditFinding(Protocol):
    """A broken promise."""

    @property
    def kind(self) -> str:
        """Short and stable, for machines."""
        ...


class AuditedThing(Protocol):
    """What was proven of one thing."""

    @property
    def findings(self) -> Sequence[AuditFinding]:
        """Every broken promise."""
        ...

    @property
    def holds(self) -> bool:
        """Whether no promise is broken."""
        ...

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        ...


P = TypeVar("P", bound=AuditedThing)


@dataclass(frozen=True)
class Auditing:
    """What a proof needs, and how thorough it is to be.

    Attributes:
        scan: read the Kafka offsets of every row.
        full: compare every key of a mirror.
        in_process: up to so many bytes a rewrite of somebody else is read to be proven.
    """

    catalog: LakeCatalog
    declared: Declarations
    scan: bool = False
    full: bool = False
    in_process: int = 0

    @cached_property
    def tables(self) -> AuditTables:
        """Declared tables, each loaded once for every kind of proof that asks."""
        return AuditTables(self.catalog)

    @cached_property
    def entries(self) -> Mapping[Identifier, Entry]:
        """All entries of the catalog, read once for every proof that asks."""
        return {entry.identifier: entry for entry in self.catalog.entries()}

    @cached_property
    def shared(self) -> Mapping[Identifier, tuple[str, ...]]:
        """Entry of the catalog → what it shares with which others."""
        return shared_among(self.entries.values())


def _sure(proof: object) -> Sequence[str]:
    del proof
    return ()


@dataclass(frozen=True)
class Kind(Generic[P]):
    """One kind of thing that can be proven.

    Attributes:
        title: what it is called in the JSON, in the plural.
        names: of all that are declared.
        prove: makes the proof of one.
        show: prints proofs as tables.
        unsure: what a proof had to leave open, if that must not pass for a good end.
    """

    title: str
    names: Callable[[Declarations], Iterable[str]]
    prove: Callable[[Auditing, str], P]
    show: Callable[[Context, Sequence[P]], None]
    unsure: Callable[[P], Sequence[str]] = _sure


def stream_tables(declared: Declarations) -> set[str]:
    """The names of what streams write, which they prove themselves."""
    return {name for stream in declared.streams.values() for name in (*stream.tables, stream.quarantine_table)}


def all_tables(declared: Declarations) -> Sequence[str]:
    """The names of what any table can have: files that another entry shares, rewrites from outside, readers."""
    return sorted(declared.tables)


def plain(text: str) -> str:
    """A text as it is, not as markup."""
    return text.replace("[", r"\[")


def show_finding(context: Context, finding: Finding) -> None:
    """Print one broken promise, which several proofs may have come upon."""
    where = [finding.table]
    if finding.partition is not None:
        where.append(f"partition {finding.partition}")
    if finding.offsets:
        where.append(f"offsets {finding.offsets}")
    context.tell_once(f"BROKEN {finding.kind}: {', '.join(part for part in where if part)}: {finding.message}", "red")


class _WithFindings(Protocol):
    @property
    def findings(self) -> Sequence[Finding]: ...


def show_findings(context: Context, proofs: Sequence[_WithFindings]) -> None:
    """Print every broken promise of some proofs, and nothing else."""
    for proof in proofs:
        for finding in proof.findings:
            show_finding(context, finding)
