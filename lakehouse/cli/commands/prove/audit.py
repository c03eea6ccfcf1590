"""`lakehouse audit`: the proofs from outside, of every kind of thing that makes a promise.

Its exit code is a verdict, so what keeps it from judging ends as "could not run", and not as "broken": unless something
else is broken. One thing that cannot be read keeps no other from being judged.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any

import typer
from pyiceberg.exceptions import NoSuchTableError

from lakehouse.cli.commands.prove.audit_columns import COLUMNS
from lakehouse.cli.commands.prove.audit_commits import COMMITS
from lakehouse.cli.commands.prove.audit_derived import DERIVED
from lakehouse.cli.commands.prove.audit_entries import ENTRIES
from lakehouse.cli.commands.prove.audit_files import FILES
from lakehouse.cli.commands.prove.audit_leases import LEASES
from lakehouse.cli.commands.prove.audit_mirrors import MIRRORS
from lakehouse.cli.commands.prove.audit_release import RELEASES
from lakehouse.cli.commands.prove.audit_rewrites import REWRITES
from lakehouse.cli.commands.prove.audit_scope import (
    AuditedThing,
    AuditFinding,
    Auditing,
    Kind,
    missing_tables,
    show_finding,
    with_writers,
)
from lakehouse.cli.commands.prove.audit_streams import STREAMS
from lakehouse.cli.commands.prove.foreign import options as of_others
from lakehouse.cli.commands.prove.foreign.command import audit_of_others
from lakehouse.cli.commands.prove.remedies import remedy_for
from lakehouse.cli.context import Context, context_of
from lakehouse.cli.declared import catalog_of, declarations_of, require_declared
from lakehouse.cli.exit_codes import PROMISE_BROKEN
from lakehouse.declarations import BrokenDeclaration, Declarations
from lakehouse.errors import LakehouseError
from lakehouse.proofs.audit import Finding
from lakehouse.proofs.foreign import ColumnNames
from lakehouse.proofs.foreign.by_coordinates import Expectations
from lakehouse.protocol.catalog import catalog_refusal
from lakehouse.protocol.errors import MetadataFileDamaged
from lakehouse.protocol.seals.damage import damaged_metadata
from lakehouse.protocol.seals.partial_group import absent_together
from lakehouse.settings import CatalogSettings

_LOOKS = 3
_MOST_DOUBTS = 5  # of them are written out
_CREATE = "`lakehouse apply` creates tables, and `lakehouse run` fills them"
_NOTHING_PROVEN = "Nothing is proven of what it declares."
KINDS: tuple[Kind[Any], ...] = (STREAMS, MIRRORS, DERIVED, RELEASES, COMMITS, COLUMNS, FILES, REWRITES, LEASES, ENTRIES)


@dataclass(frozen=True)
class Unproven:
    """A proof that could not be carried out, by the title of its kind and the name of what it is about."""

    kind: str
    name: str
    message: str
    remedy: str = ""


@dataclass(frozen=True)
class Proofs:
    """What was proven, and what could not be.

    Attributes:
        not_loaded: declarations whose tables nothing was proven of, where all were asked for.
        made: of each kind, those that were carried out, with the name of what each is about.
        unreadable: tables whose metadata file kept them from being looked at.
        errors: what the others ended with.
    """

    not_loaded: tuple[BrokenDeclaration, ...]
    made: list[tuple[Kind[Any], dict[str, Any]]] = field(default_factory=list[tuple[Kind[Any], dict[str, Any]]])
    unreadable: dict[str, Finding] = field(default_factory=dict[str, Finding])
    errors: list[Unproven] = field(default_factory=list[Unproven])


class CouldNotAudit(LakehouseError):
    """Something kept the audit from judging."""


def audit(
    ctx: typer.Context,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            help="Streams, mirrors, derived tables, releases and tables that others read on from; default: all."
        ),
    ] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    scan: Annotated[
        bool, typer.Option("--scan", help="Read every page of every file with its checksum, and believe no statistics.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Compare every key of a mirror with its changelog, however many there are.")
    ] = False,
    foreign: of_others.ForeignTables = None,
    topic: of_others.Topic = "",
    group: of_others.Group = "",
    topic_column: of_others.TopicColumn = "",
    partition_column: of_others.PartitionColumn = "",
    offset_column: of_others.OffsetColumn = "",
    key: of_others.Key = None,
    filters: of_others.Filters = False,
    started_late: of_others.StartedLate = False,
) -> None:
    """Prove that records are there once, mirrors are what their changelogs make, derived tables and releases agree.

    And that everybody who reads a table in ranges of snapshots can go on.

    With --foreign, of a table that another writer fills: whether it has each record of its topic once.

    Exit 1: a promise is broken, whatever could not be read beside it; 2: nobody can say.
    """
    context = context_of(ctx)
    columns = ColumnNames(topic_column, partition_column, offset_column)
    expected = Expectations(filters=filters, started_late=started_late)
    asked = of_others.ForeignOptions.typed(foreign, topic, group, columns, key, expected)
    of_others.refuse_contradictions(asked, names, scan=scan, full=full)
    if asked.tables:
        audit_of_others(context, asked, as_json=as_json)
    else:
        _audit_ours(context, names or (), as_json=as_json, scan=scan, full=full)


def _audit_ours(context: Context, names: Sequence[str], *, as_json: bool, scan: bool, full: bool) -> None:
    proofs = _proofs(context, names, scan=scan, full=full)
    holds = not proofs.unreadable and all(proof.holds for _, of_kind in proofs.made for proof in of_kind.values())
    unsure = [doubt for kind, of_kind in proofs.made for proof in of_kind.values() for doubt in kind.unsure(proof)]
    unsure += [f"{broken.message} {_NOTHING_PROVEN}" for broken in proofs.not_loaded]
    unsure = list(dict.fromkeys((*unsure, *(error.message for error in proofs.errors))))
    declared = declarations_of(context)
    if as_json:
        by_kind = {
            kind.title: [_as_data(declared, name, proof) for name, proof in of_kind.items()]
            for kind, of_kind in proofs.made
        }
        errors = [asdict(error) for error in proofs.errors]
        unreadable = [asdict(finding) for finding in proofs.unreadable.values()]
        not_loaded = [
            {"file": str(broken.file), "line": broken.line, "message": broken.message, "tables": list(broken.tables)}
            for broken in proofs.not_loaded
        ]
        failures = {"unreadable": unreadable, "not_loaded": not_loaded, "errors": errors}
        verdict = {"holds": holds and not unsure, **by_kind, **failures}
        typer.echo(json.dumps(verdict, indent=2))
    else:
        for kind, of_kind in proofs.made:
            if of_kind:
                kind.show(context, list(of_kind.values()))
            for name, proof in of_kind.items():
                for finding in proof.findings:
                    remedy = _remedy(declared, name, finding)
                    show_finding(context, finding, subject=name, remedy=remedy)
        for table, finding in proofs.unreadable.items():
            show_finding(context, finding, subject=table, remedy=_remedy(declared, table, finding))
    if not holds:
        for doubt in unsure if not as_json else ():
            context.out.print(f"NOT PROVEN: {doubt}", style="yellow", soft_wrap=True, markup=False, highlight=False)
        _conclude(context, "[bold red]A promise is broken.[/]", quiet=as_json)
        raise typer.Exit(PROMISE_BROKEN)
    if unsure:
        remedies = ["correct what does not load"] if proofs.not_loaded else []
        remedies += [error.remedy for error in proofs.errors if error.remedy]
        doubts = absent_together(unsure)
        remedies += [_CREATE] if len(doubts) < len(unsure) else []
        raise CouldNotAudit(
            f"No promise is known to be broken, but: {_first(doubts)}",
            remedy="; ".join(dict.fromkeys(remedies)),
        )
    _conclude(context, "[green]Every promise holds.[/]", quiet=as_json)


def _first(doubts: Sequence[str]) -> str:
    more = f" And {len(doubts) - _MOST_DOUBTS} more; `--json` has all." if len(doubts) > _MOST_DOUBTS else ""
    return " ".join(doubts[:_MOST_DOUBTS]) + more


def _as_data(declared: Declarations, name: str, proof: AuditedThing) -> dict[str, Any]:
    """A proof for `--json`, each of its findings with its remedy."""
    findings = [
        {**as_data, "remedy": _remedy(declared, name, finding)}
        for as_data, finding in zip(proof.as_json()["findings"], proof.findings, strict=True)
    ]
    return {**proof.as_json(), "findings": findings}


def _remedy(declared: Declarations, name: str, finding: AuditFinding) -> str:
    return remedy_for(declared, finding.kind, getattr(finding, "table", "") or name, finding.message)


def _conclude(context: Context, verdict: str, *, quiet: bool) -> None:
    if not quiet:
        context.out.print(verdict)


def _proofs(context: Context, names: Sequence[str], *, scan: bool, full: bool) -> Proofs:
    auditing = _opened(context, scan=scan, full=full)
    _refuse_unknown(auditing.declared, names)
    proofs = Proofs(() if names else auditing.declared.broken)
    given, names = names, with_writers(auditing.declared, names)
    for kind in KINDS:
        of_kind: dict[str, Any] = {}
        asked = kind.asked(auditing.declared, names)
        for name in kind.names(auditing.declared):
            if names and name not in asked:
                continue
            with context.err.status(f"auditing {name}"):
                try:
                    of_kind[name] = _prove(kind, auditing, name)
                except MetadataFileDamaged as error:
                    _note_unreadable(proofs, error)
                except Exception as error:  # noqa: BLE001 - whatever it is, it must not hide what others have found
                    proofs.errors.append(_unproven(kind.title, name, error, context.settings.catalog))
        proofs.made.append((kind, of_kind))
    unproven = {error.name for error in proofs.errors}
    for name in missing_tables(auditing, (name for name in given if name not in unproven)):
        proofs.errors.append(Unproven("tables", name, f"{name} does not exist.", _CREATE))
    return proofs


def _prove(kind: Kind[Any], auditing: Auditing, name: str) -> Any:
    """The proof of one thing, looked at again, with tables loaded anew, where what is wrong may be so no more.

    Where files are gone, expiry may have taken what was being read. Where anything else is wrong, a table may have
    gone on since it was loaded for another kind of proof.
    """
    looks_left = _LOOKS
    while True:
        looks_left -= 1
        auditing.tables.begin_proof()
        try:
            proof = kind.prove(auditing, name)
        except Exception:
            if not looks_left or not auditing.tables.gone_on():
                raise
        else:
            if not looks_left or not _may_be_outdated(kind, auditing, proof):
                return proof
        auditing.tables.forget()


def _may_be_outdated(kind: Kind[Any], auditing: Auditing, proof: Any) -> bool:
    if any(finding.kind == "missing_file" for finding in proof.findings):
        return True
    return (not proof.holds or bool(kind.unsure(proof))) and auditing.tables.gone_on()


def _note_unreadable(proofs: Proofs, error: MetadataFileDamaged) -> None:
    """A finding of its own, told once: whichever thing was being proven, it is this table's rows that are lost."""
    damage = damaged_metadata(error)
    proofs.unreadable[damage.table] = Finding.of(damage)


def _opened(context: Context, *, scan: bool, full: bool) -> Auditing:
    in_process = int(context.settings.maintenance.in_process_proof)
    return Auditing(catalog_of(context), declarations_of(context), scan=scan, full=full, in_process=in_process)


def _unproven(kind: str, name: str, error: Exception, catalog: CatalogSettings) -> Unproven:
    if isinstance(error, NoSuchTableError):
        itself = str(error) == f"Table does not exist: {name}"
        return Unproven(kind, name, f"{name} does not exist." if itself else f"{name}: {error}.", _CREATE)
    return Unproven(kind, name, _why(name, error, catalog))


def _why(name: str, error: Exception, catalog: CatalogSettings) -> str:
    if isinstance(error, LakehouseError):
        return f"{name}: {error}"
    if (refusal := catalog_refusal(error, catalog)) is not None:  # it is of all names, and told once
        return str(refusal)
    return f"{name} could not be audited: {type(error).__name__}: {error}."


def _refuse_unknown(declared: Declarations, names: Sequence[str]) -> None:
    known = {name for kind in KINDS for name in kind.names(declared)}
    require_declared(declared, "stream, mirror, derived table or release", names, known)
