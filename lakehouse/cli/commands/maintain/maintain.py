"""`lakehouse maintain`: what tables need, why and why not; and doing it."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from lakehouse.cli.context import Context, catalog_of, context_of
from lakehouse.cli.declared import all_declarations, declarations_of, require_declared
from lakehouse.cli.exit_codes import COULD_NOT_RUN
from lakehouse.declarations import Declarations
from lakehouse.declarations.own_tables.decision_row import DecisionRow
from lakehouse.errors import LakehouseError
from lakehouse.steps.maintenance.approval import show
from lakehouse.steps.maintenance.explain import as_json as plan_as_json
from lakehouse.steps.maintenance.explain import because, in_short, in_words, summary
from lakehouse.steps.maintenance.log.history import History
from lakehouse.steps.maintenance.model.action import Operation
from lakehouse.steps.maintenance.plan.budget import Budget
from lakehouse.steps.maintenance.survey import Surveys, TableSurvey, survey_all

_OPERATIONS = tuple(operation for operation in Operation if operation is not Operation.NOTHING)


class UnknownOperation(LakehouseError):
    """Maintenance has no such operation."""


def maintain(
    ctx: typer.Context,
    tables: Annotated[
        list[str] | None, typer.Argument(help="Tables, as namespace.table; all that need something if none is named.")
    ] = None,
    *,
    plan: Annotated[bool, typer.Option("--plan", help="Only say what is due, why, and why not more.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of lines.")] = False,
    only: Annotated[
        list[str] | None, typer.Option("--only", help=f"One of {', '.join(_OPERATIONS)}; may be given several times.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Also do what deletes; without this, that is only shown.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="With --plan: all reasons, also of tables that need nothing.")
    ] = False,
) -> None:
    """Look after tables: measure, decide, do what is due, and write down why. With --plan nothing is changed."""
    context = context_of(ctx)
    load = declarations_of if tables else all_declarations
    operations, declarations = _operations(only or []), load(context)
    require_declared(declarations, "table", tables or [], declarations.tables)
    surveys = _survey(context, declarations, tables or [], operations, waits=plan)
    for name, why in surveys.trouble.items():
        context.err.print(f"{name} could not be looked at: {why}", style="bold red", markup=False, soft_wrap=True)
    wanted = tables or [name for name, surveyed in surveys.surveyed.items() if not surveyed.plan.nothing]
    if plan:
        _show(context, surveys, tables or [], verbose=verbose, quiet=as_json)
    elif wanted:
        approved = _shown(context, surveys, wanted) if yes else {}
        _run(context, wanted, operations, approved, quiet=as_json)
    elif as_json:
        typer.echo("[]")
    else:
        _print(context, ["Nothing is due. `lakehouse maintain --plan -v` says why."])
    if surveys.trouble:
        raise typer.Exit(COULD_NOT_RUN)


def _survey(
    context: Context, declarations: Declarations, names: Sequence[str], operations: Sequence[Operation], *, waits: bool
) -> Surveys:
    with context.err.status("reading what was maintained before") as status:
        catalog, now = catalog_of(context), datetime.now(UTC)
        survey = TableSurvey(
            catalog=catalog,
            declarations=declarations,
            memory=History.read(catalog, now),
            budget=Budget.of(context.settings.maintenance),  # of each run: only the sensor rations all of them together
            now=now,
            only=operations,
            waits=waits,
        )
        tables = [declarations.tables[name] for name in names or sorted(declarations.tables)]
        return survey_all(survey, tables, begin=lambda name: status.update(f"looking at {name}"))


def _show(context: Context, surveys: Surveys, named: Sequence[str], *, verbose: bool, quiet: bool) -> None:
    if quiet:
        plans = {name: plan_as_json(surveyed) for name, surveyed in surveys.surveyed.items()}
        typer.echo(json.dumps({"tables": plans, "trouble": dict(surveys.trouble)}, indent=2))
        return
    render = in_words if named or verbose else in_short
    for surveyed in surveys.surveyed.values():
        _print(context, render(surveyed))
    for name in named:
        if name not in surveys.surveyed and name not in surveys.trouble:
            _print(context, [f"{name} does not exist yet."])
    if not named:
        _print(context, [summary(surveys.surveyed.values())])


def _shown(context: Context, surveys: Surveys, names: Sequence[str]) -> dict[str, str]:
    """Table → digest of its plan, by which its run may do it; written down, or the run would not know it."""
    catalog, writer = catalog_of(context), f"lakehouse maintain {datetime.now(UTC).isoformat()}"
    due = {
        name: surveyed
        for name in names
        if (surveyed := surveys.surveyed.get(name)) is not None and not surveyed.plan.nothing
    }
    return {name: show(catalog, surveyed, writer=writer) for name, surveyed in due.items()}


def _run(
    context: Context, names: Sequence[str], operations: Sequence[Operation], approved: Mapping[str, str], *, quiet: bool
) -> None:
    # Dagster takes a second to import, and a slip in the command's words is told without.
    from lakehouse.cli.processes.materialize import maintain as run_maintenance
    from lakehouse.cli.processes.single_run import make_run
    from lakehouse.cli.reports.outcome import RunOutcome
    from lakehouse.orchestration.run_context import ALLOW_TAG, OPERATIONS_TAG

    tags = {
        name: {OPERATIONS_TAG: ",".join(operations), **({ALLOW_TAG: approved[name]} if name in approved else {})}
        for name in names
    }

    def report(outcome: RunOutcome) -> None:
        rows = [row for row in History.read(catalog_of(context), datetime.now(UTC)).rows if row.run_id in outcome.runs]
        entries = _as_json(rows)
        if quiet:
            typer.echo(json.dumps(entries, indent=2))
            return
        for row in entries:
            _print(context, _came_of_it(row))
        silent = set(names) - {row["table_name"] for row in entries} if not outcome.failures else set[str]()
        # That nothing is to be done about one of the lakehouse's own tables is no row.
        _print(context, [f"{name}: nothing; `lakehouse maintain {name} --plan` says why." for name in sorted(silent)])
        if shown := {row["table_name"]: row for row in entries if row["result"] == "dry_run"}:
            _print(context, ["What deletes was only shown. To do it, say the same with --yes, or run it in Dagster:"])
            lines = [f"  maintenance of {name} with the tag {ALLOW_TAG}={row['plan']}" for name, row in shown.items()]
            _print(context, lines)

    make_run(context, lambda mark: run_maintenance(context, mark, tags), report, as_json=quiet)


def _as_json(rows: Sequence[DecisionRow]) -> list[dict[str, Any]]:
    """What came of each operation, in the order in which it was done; and why, where nothing was."""
    return [
        {
            "table_name": row.table_name,
            "operation": row.operation,
            "result": row.result,
            "message": row.message,
            "reasons": list(row.reasons),
            "blocked_by": list(row.blocked_by),
            "plan": row.state_digest,
        }
        for row in reversed(rows)
        if row.finished or row.operation == Operation.NOTHING
    ]


def _came_of_it(row: Mapping[str, Any]) -> list[str]:
    if row["operation"] == Operation.NOTHING:
        return [f"{row['table_name']}: nothing, because", *because(row["reasons"], row["blocked_by"])]
    return [f"{row['table_name']}: {row['operation']}: {row['result']}. {row['message'] or ''}".rstrip()]


def _operations(words: Sequence[str]) -> tuple[Operation, ...]:
    unknown = [word for word in words if word not in _OPERATIONS]
    if unknown:
        raise UnknownOperation(
            f"There is no operation {', '.join(unknown)}.", remedy=f"name some of {', '.join(_OPERATIONS)}"
        )
    return tuple(Operation(word) for word in words) or _OPERATIONS


def _print(context: Context, lines: Sequence[str]) -> None:
    for line in lines:
        context.out.print(line, highlight=False, markup=False, soft_wrap=True)
