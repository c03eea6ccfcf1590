"""`lakehouse derive`: compute derived tables in one run, with their checks, for a date and with parameters."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import msgspec
import typer

from lakehouse.cli.context import AsJson, Context, context_of, print_json
from lakehouse.cli.declared import declarations_of, require_declared
from lakehouse.declarations import Derived
from lakehouse.errors import LakehouseError
from lakehouse.quantities import quantity
from lakehouse.settings import Parameter, Parameters, laid_over
from lakehouse.steps.derived.inputs.component import upstream_of


class NothingToDerive(LakehouseError):
    """No derived table is declared."""


class UnknownParameter(LakehouseError):
    """What is given is no parameter, or not one of its kind."""


def derive(
    ctx: typer.Context,
    tables: Annotated[
        list[str] | None, typer.Argument(help="The derived tables, as namespace.table; all of them if none is named.")
    ] = None,
    *,
    runtime_date: Annotated[str, typer.Option(help="Compute for this date (2013-05-14) and not for today.")] = "",
    parameter: Annotated[list[str] | None, typer.Option(help="name=value, instead of the one that conf/ has.")] = None,
    upstream: Annotated[bool, typer.Option("--upstream", help="With the derived tables that they come from.")] = False,
    downstream: Annotated[bool, typer.Option("--downstream", help="With all that is computed from them.")] = False,
    backfill: Annotated[
        str, typer.Option(help="Why inputs of other dates or parameters may be read, and newer rows replaced.")
    ] = "",
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Compute incremental tables anew from all rows.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compute derived tables in one run, so that they agree: one date, one set of parameters, one vintage."""
    from lakehouse.orchestration.run_context import (
        BACKFILL_TAG,
        PARAMETERS_TAG,
        REBUILD_TAG,
        RUNTIME_DATE_TAG,
        parsed_date,
    )

    context = context_of(ctx)
    declarations = declarations_of(context)
    require_declared(declarations, "derived table", tables or [], declarations.derived)
    chosen = _chosen(tables or [], declarations.derived, upstream=upstream)
    given = parsed_parameters(parameter or [], context.settings.parameters)
    requested = {
        RUNTIME_DATE_TAG: parsed_date(runtime_date).isoformat() if runtime_date else "",
        PARAMETERS_TAG: msgspec.json.encode(given).decode() if given else "",
        BACKFILL_TAG: backfill,
        REBUILD_TAG: "true" if rebuild else "",
    }
    tags = {key: value for key, value in requested.items() if value}
    _run(context, chosen, tags, downstream=downstream, as_json=as_json)


def _run(context: Context, chosen: Sequence[str], tags: Mapping[str, str], *, downstream: bool, as_json: bool) -> None:
    # Dagster takes a second to import, and a slip in the command's words is told without.
    from lakehouse.cli.processes.materialize import derive as run_derive
    from lakehouse.cli.processes.single_run import make_run
    from lakehouse.cli.reports.outcome import RunOutcome

    def show(outcome: RunOutcome) -> None:
        if as_json:
            print_json(outcome.as_data())
            return
        for table, rows in sorted({**outcome.added, **outcome.written}.items()):
            release = outcome.released.get(table)
            context.out.print(
                f"{table}: {f'released {release}' if release else quantity(rows, 'row')}", highlight=False
            )

    def run(mark: str) -> RunOutcome:
        return run_derive(context, mark, chosen, tags, downstream=downstream)

    make_run(context, run, show, as_json=as_json)


def _chosen(names: Sequence[str], derived: Mapping[str, Derived], *, upstream: bool) -> list[str]:
    """The tables to compute, of those that are declared.

    Raises:
        NothingToDerive: there are none.
    """
    if not derived:
        raise NothingToDerive("No derived table is declared.", remedy="declare one in a file of conf/declarations")
    wanted = names or list(derived)
    above = [upstream_of(name, derived) if upstream else [name] for name in wanted]
    return list(dict.fromkeys(name for group in above for name in group))


def parsed_parameters(words: Sequence[str], declared: Parameters) -> dict[str, Parameter]:
    """Parameters as they are typed, each read as the kind that its declaration has.

    Raises:
        UnknownParameter: a word is no name=value, or names no declared parameter, or has a value of another kind.
    """
    given: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals:
            raise UnknownParameter(f"'{word}' is no parameter.", remedy="write it as name=value")
        given[name] = text if isinstance(declared.get(name, ""), str) else _number_or_flag(text)
    parameters = laid_over(declared, given)
    if isinstance(parameters, list):
        raise UnknownParameter(f"{'; '.join(parameters)}.", remedy="write one that conf/lakehouse.yaml declares")
    return {name: parameters[name] for name in given}


def _number_or_flag(text: str) -> object:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
