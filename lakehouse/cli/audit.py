"""`lakehouse audit`: the exactly-once proof from outside, over all streams.

Its exit code is a verdict, so whatever keeps it from judging ends as "could not run", never as "broken".
"""

import json
from collections.abc import Sequence
from typing import Annotated

import typer
from pyiceberg.exceptions import NoSuchTableError
from rich.table import Column, Table

from lakehouse.audit import Finding, StreamProof, audit_stream
from lakehouse.cli.context import Context, context_of
from lakehouse.cli.declared import catalog_of, declarations_of
from lakehouse.cli.errors import PROMISE_BROKEN
from lakehouse.errors import LakehouseError
from lakehouse.tables import Stream


class CouldNotAudit(LakehouseError):
    """Something kept the audit from judging."""


def audit(
    ctx: typer.Context,
    streams: Annotated[list[str] | None, typer.Argument(help="Streams to audit; default: all.")] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    scan: Annotated[
        bool,
        typer.Option("--scan", help="Read the Kafka offsets of every row, also where file statistics could decide."),
    ] = False,
) -> None:
    """Prove that each Kafka record is in exactly one table, once; exit 1: a promise is broken, 2: nobody can say."""
    context = context_of(ctx)
    proofs = _proofs(context, streams or [], scan=scan)
    holds = all(proof.holds for proof in proofs)
    if as_json:
        typer.echo(json.dumps({"holds": holds, "streams": [proof.as_json() for proof in proofs]}, indent=2))
    else:
        for proof in proofs:
            _show(context, proof)
        context.out.print("[green]Every promise holds.[/]" if holds else "[bold red]A promise is broken.[/]")
    if not holds:
        raise typer.Exit(PROMISE_BROKEN)


def _proofs(context: Context, names: Sequence[str], *, scan: bool) -> list[StreamProof]:
    try:
        declared = declarations_of(context).streams
        catalog = catalog_of(context)
        proofs: list[StreamProof] = []
        for stream in _chosen(declared, names):
            with context.err.status(f"auditing {stream.name}"):
                proofs.append(audit_stream(catalog, stream.name, (*stream.tables, stream.quarantine_table), scan=scan))
    except LakehouseError:
        raise
    except NoSuchTableError as missing:
        raise CouldNotAudit(
            f"{missing}.", remedy="create it with `lakehouse apply`, or ingest with `make run`"
        ) from missing
    except Exception as error:
        raise CouldNotAudit(f"The audit could not be carried out: {type(error).__name__}: {error}") from error
    return proofs


def _chosen(declared: dict[str, Stream], names: Sequence[str]) -> list[Stream]:
    if unknown := [name for name in names if name not in declared]:
        raise CouldNotAudit(
            f"There is no stream {', '.join(unknown)}.", remedy=f"name some of {', '.join(sorted(declared))}"
        )
    return [stream for name, stream in sorted(declared.items()) if not names or name in names]


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
