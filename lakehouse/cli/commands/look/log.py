"""`lakehouse log`: what the audit log says, newest last."""

import json
from datetime import date, datetime
from typing import Annotated, Any

import typer
from rich.text import Text

from lakehouse.cli.context import Context, catalog_of, context_of
from lakehouse.errors import LakehouseError
from lakehouse.protocol.journal.audit_row import AuditRow
from lakehouse.protocol.journal.event import KINDS
from lakehouse.protocol.journal.reading import logged

_STYLES = {"ERROR": "bold red", "WARN": "yellow"}
_SHORT_ID = 8


class UnknownKind(LakehouseError):
    """The log has no such kind of event."""


def log(
    ctx: typer.Context,
    *,
    table: Annotated[str, typer.Option(help="Only what happened to this table, as namespace.table.")] = "",
    run: Annotated[str, typer.Option(help="Only what this run did, with its re-executions.")] = "",
    kind: Annotated[str, typer.Option(help=f"Only {', '.join(KINDS[:-1])} or {KINDS[-1]}.")] = "",
    last: Annotated[int, typer.Option(min=0, help="So many events at most; 0 for all.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Show who did what to which table, when and by what code: commits, runs, checks, releases and refusals.

    Times are UTC. The log is brought up to date by a sensor of `lakehouse dev`, and at the end of `lakehouse run` and
    `lakehouse derive`.
    """
    context = context_of(ctx)
    if kind and kind not in KINDS:
        raise UnknownKind(f"There is no kind of event {kind}.", remedy=f"name one of {', '.join(KINDS)}")
    rows = logged(catalog_of(context), table=table, run=run, kind=kind)
    if table and not rows:  # one that is no longer declared may have a past
        from lakehouse.cli.declared import declarations_of, require_declared

        declarations = declarations_of(context)
        require_declared(declarations, "table", [table], declarations.tables)
    shown = rows[-last:] if last else rows
    if as_json:
        typer.echo(json.dumps([_plain(row) for row in shown], indent=2))
        return
    _show(context, shown, kind, filtered=bool(table or run or kind))
    if len(shown) < len(rows):
        context.err.print(f"{len(rows) - len(shown):,} older events are not shown; see --last.", highlight=False)


def _plain(row: AuditRow) -> dict[str, Any]:
    columns = row.to_columns().items()
    values = {name: value.isoformat() if isinstance(value, date | datetime) else value for name, value in columns}
    return {**values, "details": json.loads(row.details)}


def _show(context: Context, rows: list[AuditRow], kind: str, *, filtered: bool) -> None:
    if not rows:
        context.out.print(
            "Nothing of the kind is logged."
            if filtered
            else "Nothing is logged yet: `lakehouse run` and `lakehouse dev` write down what happens.",
            soft_wrap=True,
        )
        if kind == "maintenance":
            explanation = (
                "Only what deletes is logged here. All of maintenance, with reasons, is in `lakehouse.maintenance`, "
            )
            context.out.print(
                f"{explanation}and in Dagster at the asset maintenance/<namespace>/<table>.", soft_wrap=True
            )
        return
    # One line for each event, at any width: a table of so many columns would hide the last ones in a terminal of 80.
    outcomes = [_event_name(row) for row in rows]
    wide = max(map(len, outcomes))
    wider = max(len(row.table_name or "-") for row in rows)
    for row, outcome in zip(rows, outcomes, strict=True):
        line = Text(f"{row.timestamp:%Y-%m-%d %H:%M:%S}  ")
        line.append(f"{outcome:<{wide}}", style=_STYLES.get(row.severity or "", ""))
        line.append(f"  {row.table_name or '-':<{wider}}  {(row.run_id or '-')[:_SHORT_ID]:<{_SHORT_ID}}")
        line.append(f"  {row.message}" + (f" ({row.who})" if row.who else ""))
        context.out.print(line, soft_wrap=True, highlight=False)


def _event_name(row: AuditRow) -> str:
    warns = " (warning)" if row.severity == "WARN" else ""
    return f"{row.kind} {row.outcome}{warns}"
