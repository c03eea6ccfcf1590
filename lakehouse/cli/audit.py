"""`lakehouse audit`: the proofs from outside: exactly once, over all streams, and of each mirror that it is a fold.

Its exit code is a verdict, so whatever keeps it from judging ends as "could not run", never as "broken".
"""

import json
from collections.abc import Sequence
from typing import Annotated

import typer
from pyiceberg.exceptions import NoSuchTableError
from rich.table import Column, Table

from lakehouse.audit import Finding, StreamProof, audit_stream
from lakehouse.cdc.audit import MirrorProof, audit_mirror
from lakehouse.cli.context import Context, context_of
from lakehouse.cli.declared import catalog_of, declarations_of
from lakehouse.cli.errors import PROMISE_BROKEN
from lakehouse.errors import LakehouseError
from lakehouse.tables import Declarations


class CouldNotAudit(LakehouseError):
    """Something kept the audit from judging."""


def audit(
    ctx: typer.Context,
    names: Annotated[list[str] | None, typer.Argument(help="Streams and mirrors to audit; default: all.")] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    scan: Annotated[
        bool,
        typer.Option("--scan", help="Read the Kafka offsets of every row, also where file statistics could decide."),
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="Compare every key of a mirror with its changelog, however many there are.")
    ] = False,
) -> None:
    """Prove that each Kafka record is in one table, once, and each mirror what its changelog makes.

    Exit 1: a promise is broken, 2: nobody can say.
    """
    context = context_of(ctx)
    proofs, mirrors = _proofs(context, names or [], scan=scan, full=full)
    holds = all(proof.holds for proof in (*proofs, *mirrors))
    if as_json:
        told = {"streams": [proof.as_json() for proof in proofs], "mirrors": [proof.as_json() for proof in mirrors]}
        typer.echo(json.dumps({"holds": holds, **told}, indent=2))
    else:
        for proof in proofs:
            _show(context, proof)
        if mirrors:
            _show_mirrors(context, mirrors)
        context.out.print("[green]Every promise holds.[/]" if holds else "[bold red]A promise is broken.[/]")
    if not holds:
        raise typer.Exit(PROMISE_BROKEN)


def _proofs(
    context: Context, names: Sequence[str], *, scan: bool, full: bool
) -> tuple[list[StreamProof], list[MirrorProof]]:
    try:
        declared = declarations_of(context)
        catalog = catalog_of(context)
        _refuse_unknown(declared, names)
        proofs: list[StreamProof] = []
        for name, stream in sorted(declared.streams.items()):
            if not names or name in names:
                with context.err.status(f"auditing {name}"):
                    proofs.append(audit_stream(catalog, name, (*stream.tables, stream.quarantine_table), scan=scan))
        mirrors: list[MirrorProof] = []
        for name, tables in sorted(declared.mirrors.items()):
            if not names or name in names:
                with context.err.status(f"auditing {name}"):
                    mirrors.append(audit_mirror(catalog, tables, full=full))
    except LakehouseError:
        raise
    except NoSuchTableError as missing:
        raise CouldNotAudit(
            f"{missing}.", remedy="create it with `lakehouse apply`, or ingest with `make run`"
        ) from missing
    except Exception as error:
        raise CouldNotAudit(f"The audit could not be carried out: {type(error).__name__}: {error}") from error
    return proofs, mirrors


def _refuse_unknown(declared: Declarations, names: Sequence[str]) -> None:
    known = {*declared.streams, *declared.mirrors}
    if unknown := [name for name in names if name not in known]:
        raise CouldNotAudit(
            f"There is no stream or mirror {', '.join(unknown)}.", remedy=f"name some of {', '.join(sorted(known))}"
        )


def _show(context: Context, proof: StreamProof) -> None:
    title = f"{proof.stream}: {proof.read:,} records read, {proof.seals} seals, proven from {proof.proven_from or '-'}"
    lines = Table(
        Column("table", no_wrap=True),
        Column("partition", justify="right"),
        Column("offsets", no_wrap=True),
        Column("rows", justify="right"),
        Column("decided by", no_wrap=True),
        title=title,
        title_justify="left",
    )
    for proven in proof.ranges:
        span = f"[{proven.first}, {proven.end})" if proven.first is not None else f"none below {proven.end}"
        lines.add_row(proven.table, str(proven.partition), _plain(span), f"{proven.rows:,}", proven.decided_by)
    context.out.print(lines)
    for finding in proof.findings:
        _show_finding(context, finding)


def _show_mirrors(context: Context, proofs: Sequence[MirrorProof]) -> None:
    lines = Table(
        Column("mirror", no_wrap=True),
        Column("rows", justify="right"),
        Column("changes", justify="right"),
        Column("in quarantine", justify="right"),
        Column("compared"),
        title="Mirrors, each against its changelog",
        title_justify="left",
    )
    for proof in proofs:
        counts = (f"{proof.keys.rows:,}", f"{proof.fold.changes:,}", f"{proof.fold.refused:,}")
        lines.add_row(proof.mirror, *counts, _plain(proof.fold.looked_at or "nothing yet"))
    context.out.print(lines)
    for proof in proofs:
        for finding in proof.findings:
            _show_finding(context, finding)


def _plain(text: str) -> str:
    return text.replace("[", r"\[")


def _show_finding(context: Context, finding: Finding) -> None:
    where = [finding.table]
    if finding.partition is not None:
        where.append(f"partition {finding.partition}")
    if finding.offsets:
        where.append(f"offsets {finding.offsets}")
    line = f"BROKEN {finding.kind}: {', '.join(part for part in where if part)}: {finding.message}"
    context.out.print(line, style="red", soft_wrap=True, markup=False, highlight=False)
