"""`lakehouse polaris plan` and `apply`: how a server differs from its file, and the end of that."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lakehouse.cli.commands.environment.polaris.chosen_server import Name, planned, server_of
from lakehouse.cli.context import AsJson, Context, context_of, print_json
from lakehouse.cli.exit_codes import PROMISE_BROKEN
from lakehouse.quantities import quantity

if TYPE_CHECKING:
    from lakehouse.polaris import PolarisPlan

_STYLES = {"create": "green", "grant": "green", "assign": "green", "update": "yellow", "revoke": "red"}


def plan(ctx: typer.Context, name: Name = "", *, as_json: AsJson = False) -> None:
    """Show how a server differs from its file. Exit 1: it differs."""
    context = context_of(ctx)
    differences = planned(server_of(context, name))
    _show(context, differences, as_json=as_json, done=0)
    if differences.drift:
        raise typer.Exit(PROMISE_BROKEN)


def apply(
    ctx: typer.Context,
    name: Name = "",
    *,
    secrets: Annotated[Path | None, typer.Option(help="The file that credentials go to; made with mode 600.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this, only show what would change.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make a server as its file says: what is declared is held to exactly, what is not is left alone.

    No catalog, namespace, principal or role is ever dropped. Credentials of new principals go to the file of --secrets.
    """
    from lakehouse.polaris import PolarisApi, apply_polaris
    from lakehouse.polaris.applying import file_for

    context = context_of(ctx)
    server = server_of(context, name)
    differences = planned(server)
    done: list[str] = []
    if not yes:
        _show(context, differences, as_json=as_json, done=0)
        return
    kept = file_for(differences, secrets, server.principals)

    def report(change: object) -> None:
        done.append(str(change))
        if not as_json:
            context.tell(str(change))

    apply_polaris(PolarisApi(server), differences, kept, report)
    if as_json:
        print_json(_as_data(differences, done=len(done)))
    elif not done:
        context.tell("The server is as declared.")
    elif kept is not None:
        context.tell(f"Credentials of new principals are in {kept.path}.")


def _show(context: Context, differences: "PolarisPlan", *, as_json: bool, done: int) -> None:
    if as_json:
        print_json(_as_data(differences, done=done))
        return
    for change in differences.changes:
        for line in str(change).splitlines():
            context.tell(line, _STYLES[change.action])
    for refused in differences.refused:
        context.tell(f"refused: {refused.problem}. Remedy: {refused.remedy}.", "bold red")
    if differences.others:
        context.tell(f"Not declared, and left alone: {', '.join(differences.others)}.", "dim")
    if not differences.drift:
        context.tell("The server is as declared.")
    else:
        count = quantity(len(differences.changes) + len(differences.refused), "difference")
        context.tell(f"{count}. `lakehouse polaris apply --yes` makes them go; nothing is ever dropped.")


def _as_data(differences: "PolarisPlan", *, done: int) -> dict[str, object]:
    return {
        "drift": differences.drift,
        "changes": [
            {"action": change.action, "what": change.what, "details": list(change.details)}
            for change in differences.changes
        ],
        "refused": [asdict(refused) for refused in differences.refused],
        "others": list(differences.others),
        "done": done,
    }
