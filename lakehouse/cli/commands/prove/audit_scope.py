"""What the kinds of proof of `lakehouse audit` have in common."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Protocol, TypeVar

from pyiceberg.typedef import Identifier

from lakehouse.cli.commands.prove.audit_tables import AuditTables
from lakehouse.cli.context import Context
from lakehouse.declarations import Declarations
from lakehouse.iceberg.names import identifier_of
from lakehouse.protocol.catalog import Entry, LakeCatalog
from lakehouse.protocol.cleanup.shared_files import shared_among


class AuditFinding(Protocol):
    """A broken promise."""

    @property
    def kind(self) -> str:
        """Short and stable, for machines."""
        ...

    @property
    def message(self) -> str:
        """What is wrong, for a person."""
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
        scan: read every file, and the Kafka offsets of every row.
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


def missing_tables(auditing: Auditing, names: Iterable[str]) -> list[str]:
    """The declared tables among names that a person gave and that do not exist: nothing can be said of them."""
    declared = {identifier_of(name): name for name in names if name in auditing.declared.tables}
    known = auditing.catalog.locations(list(declared)).known if declared else ()
    return [name for identifier, name in declared.items() if identifier not in known]


def with_writers(declared: Declarations, names: Iterable[str]) -> list[str]:
    """The names, and of each table who fills it: whether records are there once is asked of its stream."""
    given = list(names)
    writers = (declared.writer(name) for name in given if name in declared.tables)
    return list(dict.fromkeys([*given, *(writer.name for writer in writers if writer is not None)]))


def _sure(proof: object) -> Sequence[str]:
    del proof
    return ()


def _named(declared: Declarations, names: Collection[str]) -> Collection[str]:
    del declared
    return names


@dataclass(frozen=True)
class Kind(Generic[P]):
    """One kind of thing that can be proven.

    Attributes:
        title: what it is called in the JSON, in the plural.
        names: of all that are declared.
        prove: makes the proof of one.
        show: prints proofs as tables, without what is broken.
        unsure: what a proof had to leave open, if that must not pass for a good end.
        asked: of which of its things a proof is made, where a person names some.
    """

    title: str
    names: Callable[[Declarations], Iterable[str]]
    prove: Callable[[Auditing, str], P]
    show: Callable[[Context, Sequence[P]], None]
    unsure: Callable[[P], Sequence[str]] = _sure
    asked: Callable[[Declarations, Collection[str]], Collection[str]] = _named


def stream_tables(declared: Declarations) -> set[str]:
    """The names of what streams write, which they prove themselves."""
    return {name for stream in declared.streams.values() for name in (*stream.tables, stream.quarantine_table)}


def all_tables(declared: Declarations) -> Sequence[str]:
    """The names of what any table can have: files that another entry shares, rewrites from outside, readers."""
    return sorted(declared.tables)


def show_finding(context: Context, finding: AuditFinding, *, subject: str, remedy: str) -> None:
    """Print one broken promise, of a table or of what was proven, with what to do about it."""
    partition, offsets = getattr(finding, "partition", None), getattr(finding, "offsets", "")
    where = [getattr(finding, "table", "") or subject]
    if partition is not None:
        where.append(f"partition {partition}")
    if offsets:
        where.append(f"offsets {offsets}")
    line = f"BROKEN {finding.kind}: {', '.join(where)}: {finding.message}"
    if remedy:
        line += f" Remedy: {remedy}."
    context.tell_once(line, "red")


def show_nothing(context: Context, proofs: Sequence[object]) -> None:
    """Of proofs that have nothing to show but what is broken."""
    del context, proofs
