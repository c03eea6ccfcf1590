"""`lakehouse polaris policies`: maintenance that Polaris keeps in mind, beside what tables declare."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from lakehouse.cli.commands.environment.polaris.chosen_server import NameOption, server_of
from lakehouse.cli.context import AsJson, Context, context_of, print_json
from lakehouse.cli.declared import all_declarations, require_declared
from lakehouse.cli.exit_codes import COULD_NOT_RUN, PROMISE_BROKEN

if TYPE_CHECKING:
    from lakehouse.polaris.policies import PolicySetting


def policies(
    ctx: typer.Context,
    tables: Annotated[list[str] | None, typer.Argument(help="Tables; default: all that are declared.")] = None,
    *,
    server: NameOption = "",
    as_json: AsJson = False,
) -> None:
    """Compare Polaris' maintenance policies with what tables declare: Polaris keeps them, and carries none out.

    Exit 1: one says something that is not done.
    """
    from lakehouse.polaris import PolarisApi
    from lakehouse.polaris.policies import applicable_policies, compare_policies

    context = context_of(ctx)
    polaris_server = server_of(context, server)
    declarations = all_declarations(context)
    declared = declarations.tables
    require_declared(declarations, "table", tables or (), declared)
    api = PolarisApi(polaris_server)
    settings = [
        (name, setting)
        for name in tables or sorted(declared)
        for setting in compare_policies(
            declared[name], applicable_policies(api, context.settings.catalog.warehouse, name)
        )
    ]
    if as_json:
        print_json([{"table": name, **asdict(setting), "agrees": setting.agrees} for name, setting in settings])
    else:
        _show_policies(context, settings)
    if context.incomplete:
        raise typer.Exit(COULD_NOT_RUN)
    if not all(setting.agrees for _, setting in settings):
        raise typer.Exit(PROMISE_BROKEN)


def _show_policies(context: Context, settings: "list[tuple[str, PolicySetting]]") -> None:
    if not settings:
        context.tell("No policy applies to a declared table.")
    for name, setting in settings:
        declared = f"{setting.setting} = {setting.declared}" if setting.setting else "no declaration has a word for it"
        text = f"{name}: {setting.policy}: {setting.key} = {setting.says}; {declared}"
        context.tell(text, "green" if setting.agrees else "yellow")
