"""`lakehouse polaris check` and `setup`: is the server well, and what Polaris' own command would read."""

from dataclasses import asdict

import typer

from lakehouse.cli.commands.environment.polaris.chosen_server import Name, server_of
from lakehouse.cli.context import AsJson, context_of, print_json
from lakehouse.cli.exit_codes import PROMISE_BROKEN

_COLORS = {"well": "green", "wrong": "bold red", "not asked": "dim"}


def check(ctx: typer.Context, name: Name = "", *, as_json: AsJson = False) -> None:
    """Ask whether a server is well, and new enough. Exit 1: something is wrong."""
    from lakehouse.polaris import PolarisApi
    from lakehouse.polaris.server_check import check_server

    context = context_of(ctx)
    server = server_of(context, name)
    findings = list(check_server(PolarisApi(server), server))
    wrong = any(finding.state == "wrong" for finding in findings)
    if as_json:
        print_json({"well": not wrong, "findings": [asdict(finding) for finding in findings]})
    else:
        for finding in findings:
            remedy = f" Remedy: {finding.remedy}." if finding.remedy else ""
            context.tell(f"{finding.state:9} {finding.check}: {finding.message}{remedy}", _COLORS[finding.state])
    if wrong:
        raise typer.Exit(PROMISE_BROKEN)


def setup(ctx: typer.Context, name: Name = "") -> None:
    """Print the file that Polaris' own `polaris setup apply` reads. No server is asked."""
    from lakehouse.polaris.setup_file import setup_file

    typer.echo(setup_file(server_of(context_of(ctx), name)), nl=False)
