"""`lakehouse log`: what the audit log says, newest last."""

import json
from datetime import date, datetime
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Column, Table

from lakehouse.cli.context import Context, context_of
from lakehouse.cli.declared import catalog_of
from lakehouse.journal import logged

_STYLES = {"ERROR": "bold red", "WARN": "yellow"}
_SHORT_ID = 8


def log(
    ctx: typer.Context,
    *,
    table: Annotated[str, typer.Option(help="Only what happened to this table, as namespace.table.")] = "",
    run: Annotated[str, typer.Option(help="Only what this run did, with its re-executions.")] = "",
    kind: Annotated[str, typer.Option(help="Only commit, run, check, release, refusal or gap.")] = "",
    last: Annotated[int, typer.Option(help="So many events at most; 0 for all.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Show who did what to which table, when and by what code: commits, runs, checks, releases and refusals.

    The log is brought up to date by a sensor of `lakehouse dev`, and at the end of `lakehouse run`.
    """
    context = context_of(ctx)
    rows = logged(catalog_of(context), table=table, run=run, kind=kind)
    shown = rows[-last:] if last else rows
    if as_json:
        typer.echo(json.dumps([_plain(row) for row in shown], indent=2))
        return
    _show(context, shown)
    if len(shown) < len(rows):
        context.err.print(f"{len(rows) - len(shown):,} older events are not shown; see --last.", highlight=False)


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    told = {name: value.isoformat() if isinstance(value, date | datetime) else value for name, value in row.items()}
    return {**told, "details": json.loads(row["details"])}


def _show(context: Context, rows: list[dict[str, Any]]) -> None:
    if not rows:
        context.out.print("Nothing of the kind is logged.")
        return
    shown = Table(
        Column("when (UTC)", no_wrap=True),
        Column("what", no_wrap=True),
        Column("table", no_wrap=True),
        Column("run", no_wrap=True),
        "who",
        "",
    )
    for row in rows:
        what = f"{row['kind']} {row['outcome']}"
        style = _STYLES.get(row["severity"] or "")
        shown.add_row(
            f"{row['at']:%Y-%m-%d %H:%M:%S}",
            f"[{style}]{what}[/]" if style else what,
            row["table_name"] or "",
            (row["run_id"] or "")[:_SHORT_ID],
            escape(row["who"] or ""),
            escape(row["message"]),
        )
    context.out.print(shown)
