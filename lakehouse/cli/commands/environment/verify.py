"""`lakehouse verify`: an acceptance run on a catalog, a platform and a Kafka, in a namespace of its own."""

import json
import os
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Column, Table
from rich.text import Text

from lakehouse.cli.context import AsJson, Context, context_of
from lakehouse.cli.exit_codes import PROMISE_BROKEN
from lakehouse.cli.processes.run_context import ended_by_signals, shielded
from lakehouse.cli.servers import own_kafka
from lakehouse.errors import LakehouseError
from lakehouse.quantities import quantity
from lakehouse.settings import Settings
from lakehouse.settings.document import read_document
from lakehouse.settings.shipped import SELECTION

if TYPE_CHECKING:
    from lakehouse.acceptance import Outcome

_MOST_MINUTES = 7 * 24 * 60
_STYLES = {"seen": "green", "not seen": "yellow", "refused": "bold red"}


class PageRefused(LakehouseError):
    """The file that the result is to be written to cannot be written."""


def verify(
    ctx: typer.Context,
    *,
    catalog: Annotated[str, typer.Option(help="A file of conf/catalogs; default: the one that is selected.")] = "",
    platform: Annotated[str, typer.Option(help="A file of conf/platforms; default: the one that is selected.")] = "",
    kafka: Annotated[str, typer.Option(help="A file of conf/kafka; default: the one that is selected.")] = "",
    records: Annotated[int, typer.Option(min=30, max=1_000_000, help="How many are sent to each topic.")] = 3000,
    minutes: Annotated[
        float, typer.Option(min=0.1, max=_MOST_MINUTES, help="After so long no further trial is begun.")
    ] = 30,
    page: Annotated[Path | None, typer.Option(help="Write the result to this file, as a page in Markdown.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this, only show what would be made.")] = False,
    as_json: AsJson = False,
) -> None:
    """Try the promises on a catalog, a platform and a Kafka: races, kills, an ingest, a mirror, a release.

    It works in a namespace and on topics of its own, and removes them. Exit 1: a promise is not kept there.
    """
    from lakehouse.acceptance import TRIALS, carry_out, scratch
    from lakehouse.acceptance import page as page_of

    context = context_of(ctx)
    names = {"catalog": catalog, "platform": platform, "kafka": kafka}
    environ = {f"LAKEHOUSE_{kind.upper()}": name for kind, name in names.items() if name}
    settings = context.settings_with(environ)
    environ["LAKEHOUSE_CONF"] = str(settings.conf)
    selection = read_document(settings.conf / SELECTION)
    names = {
        kind: name or os.environ.get(f"LAKEHOUSE_{kind.upper()}") or selection.text(kind, "local")
        for kind, name in names.items()
    }
    if page is not None:
        _require_writable(page)
    if not yes:
        _show_plan(context, names, records, minutes, [trial.name for trial in TRIALS], as_json=as_json)
        return
    own_kafka(settings)
    settings.state.make()
    outcomes: list[Outcome] = []
    with ended_by_signals(), context.err.status("verify") as status, _removed_whole() as made:
        place = made.enter_context(scratch(settings, records, status.update, environ))
        for outcome in carry_out(place, minutes * 60):
            outcomes.append(outcome)
            context.err.print(f"{outcome.trial}: {outcome.verdict}", style=_STYLES[outcome.verdict], highlight=False)
    if page is not None:
        page.write_text(page_of(settings, outcomes, names), encoding="utf-8")
    _show(context, settings, outcomes, as_json=as_json)
    if any(outcome.verdict == "refused" for outcome in outcomes):
        raise typer.Exit(PROMISE_BROKEN)


@contextmanager
def _removed_whole() -> Generator[ExitStack]:
    """What is made with it is removed at the end, which no further signal interrupts."""
    made = ExitStack()
    try:
        yield made
    finally:
        with shielded():
            made.close()


def _require_writable(page: Path) -> None:
    """Open the file before the trials, which nobody wants to repeat; where there was none, none is left.

    Raises:
        PageRefused: it cannot be written.
    """
    is_new = not os.path.lexists(page)
    try:
        page.open("a").close()
        if is_new:
            page.unlink()
    except OSError as error:
        raise PageRefused(
            f"--page: {page}: {error.strerror}.", remedy="name a file that can be written, in a folder that is there"
        ) from None


def _show_plan(
    context: Context, names: Mapping[str, str], records: int, minutes: float, trials: list[str], *, as_json: bool
) -> None:
    made = {"namespaces": ["lakehouse_verify_<random>", "quarantine", "release"], "tables": 12, "topics": 2}
    if as_json:
        typer.echo(
            json.dumps({"done": False, **names, "records": records, "minutes": minutes, "makes": made}, indent=2)
        )
        return
    context.tell(", ".join(f"{kind}: {name}" for kind, name in names.items()))
    context.tell(f"Trials: {', '.join(trials)}.")
    context.tell(
        f"Makes, and removes at the end: {made['tables']} tables and 2 topics of {quantity(records, 'record')}, named "
        "lakehouse_verify_<random>. Two of the tables are in the namespaces quarantine and release."
    )
    context.tell(f"Takes at most {minutes:g} minutes and the trial that runs then; some megabytes are written.")
    context.tell("Nothing was done. To do this, say the same with --yes.")


def _show(context: Context, settings: Settings, outcomes: "list[Outcome]", *, as_json: bool) -> None:
    if as_json:
        kept = not any(outcome.verdict == "refused" for outcome in outcomes)
        typer.echo(json.dumps({"kept": kept, "trials": [asdict(outcome) for outcome in outcomes]}, indent=2))
        return
    lines = Table(
        Column("trial", no_wrap=True),
        Column("verdict", no_wrap=True),
        Column("what was seen"),
        title=f"Platform {settings.platform.name}",
        title_justify="left",
    )
    for outcome in outcomes:
        to_do = f" To do: {outcome.remedy}." if outcome.remedy else ""
        lines.add_row(outcome.trial, Text(outcome.verdict, _STYLES[outcome.verdict]), f"{outcome.evidence}.{to_do}")
    context.out.print(lines)
