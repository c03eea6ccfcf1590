"""`lakehouse audit`: the proofs from outside, of every kind of thing that makes a promise.

Its exit code is a verdict, so what keeps it from judging ends as "could not run", and not as "broken": unless something
else is broken. One thing that cannot be read keeps no other from being judged.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from lakehouse.cli.commands.prove.audit_proofs import CREATE, carry_out
from lakehouse.cli.commands.prove.audit_scope import AuditedThing, show_finding
from lakehouse.cli.commands.prove.foreign import options as of_others
from lakehouse.cli.commands.prove.foreign.command import audit_of_others
from lakehouse.cli.commands.prove.remedies import remedies_of
from lakehouse.cli.context import Context, context_of
from lakehouse.cli.declared import declarations_of
from lakehouse.cli.exit_codes import PROMISE_BROKEN
from lakehouse.declarations import Declarations
from lakehouse.errors import LakehouseError
from lakehouse.proofs.foreign import ColumnNames
from lakehouse.proofs.foreign.by_coordinates import Expectations
from lakehouse.protocol.seals.partial_group import absent_together

_MOST_DOUBTS = 5  # of them are written out
_NOTHING_PROVEN = "Nothing is proven of what it declares."


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
    proofs = carry_out(context, names, scan=scan, full=full)
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
        reservation = context.settings.catalog.reservation
        reserved = {"reservation": reservation} if reservation else {}
        verdict = {"holds": holds and not unsure, **reserved, **by_kind, **failures}
        typer.echo(json.dumps(verdict, indent=2))
    else:
        for kind, of_kind in proofs.made:
            if of_kind:
                kind.show(context, list(of_kind.values()))
            for name, proof in of_kind.items():
                for finding, remedy in zip(proof.findings, remedies_of(declared, name, proof.findings), strict=True):
                    show_finding(context, finding, subject=name, remedy=remedy)
        for table, finding in proofs.unreadable.items():
            show_finding(context, finding, subject=table, remedy=remedies_of(declared, table, [finding])[0])
    if not holds:
        for doubt in unsure if not as_json else ():
            context.out.print(f"NOT PROVEN: {doubt}", style="yellow", soft_wrap=True, markup=False, highlight=False)
        _conclude(context, "A promise is broken.", "bold red", quiet=as_json)
        raise typer.Exit(PROMISE_BROKEN)
    if unsure:
        remedies = ["correct what does not load"] if proofs.not_loaded else []
        remedies += [error.remedy for error in proofs.errors if error.remedy]
        doubts = absent_together(unsure)
        remedies += [CREATE] if len(doubts) < len(unsure) else []
        raise CouldNotAudit(
            f"No promise is known to be broken, but: {_first(doubts)}",
            remedy="; ".join(dict.fromkeys(remedies)),
        )
    kept = "Every promise holds" + (", without P2." if context.settings.catalog.reservation else ".")
    _conclude(context, kept, "green", quiet=as_json)


def _first(doubts: Sequence[str]) -> str:
    more = f" And {len(doubts) - _MOST_DOUBTS} more; `--json` has all." if len(doubts) > _MOST_DOUBTS else ""
    return " ".join(doubts[:_MOST_DOUBTS]) + more


def _as_data(declared: Declarations, name: str, proof: AuditedThing) -> dict[str, Any]:
    """A proof for `--json`, each of its findings with its remedy."""
    as_data, remedies = proof.as_json(), remedies_of(declared, name, proof.findings)
    findings = [{**finding, "remedy": remedy} for finding, remedy in zip(as_data["findings"], remedies, strict=True)]
    return {**as_data, "findings": findings}


def _conclude(context: Context, verdict: str, style: str, *, quiet: bool) -> None:
    if not quiet:
        context.out.print(verdict, style=style)
