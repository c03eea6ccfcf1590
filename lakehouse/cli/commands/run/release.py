"""`lakehouse release show|list|rollback`: what readers get, what there was, and the way back."""

import getpass
import json
import socket
import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any
from zoneinfo import ZoneInfo

import msgspec
import typer
from rich.table import Column, Table

from lakehouse.cli.context import AsJson, Context, catalog_of, context_of, print_json
from lakehouse.cli.declared import all_declarations, declarations_of, require_declared
from lakehouse.declarations import Release
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.steps.release.errors import NothingReleased
from lakehouse.steps.release.names import tag_of
from lakehouse.steps.release.pointer import PointerRow, load_pointer, moves
from lakehouse.steps.release.reading import OpenRelease, open_release
from lakehouse.steps.release.rollback import rollback as move_back

release = typer.Typer(
    name="release",
    no_args_is_help=True,
    help="Tables that readers see at one vintage: what is current, and the way back.",
)


Group = Annotated[str, typer.Argument(help="The release, by its declared name.")]


@release.command()
def show(
    ctx: typer.Context,
    group: Group,
    *,
    release_id: Annotated[str | None, typer.Option("--id", help="An older release that is still kept.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what readers of a release get: every table with its snapshot, and the tag to read it by.

    Every tag is looked at, so a release that is not whole ends as an error.
    """
    context = context_of(ctx)
    declared, catalog = _declared(context, group), catalog_of(context)
    opened = open_release(catalog, declared.name, release_id)
    for name in opened.tables:
        opened.table(name)
    pointer = load_pointer(catalog, declared.name)
    released = next((move for move in moves(pointer.base.table) if move.id == opened.id), None)
    if as_json:
        typer.echo(json.dumps(_as_json(opened, released, current=pointer.current.current), indent=2))
    else:
        _show(context, opened, released)


@release.command(name="list")
def list_releases(
    ctx: typer.Context,
    group: Annotated[str | None, typer.Argument(help="One release; default: all that are declared.")] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Show every time that a pointer was moved, the newest first: when, by whom, why, and what is still readable."""
    context = context_of(ctx)
    declared = [_declared(context, group)] if group else list(all_declarations(context).releases.values())
    catalog = catalog_of(context)
    histories = {group_release.name: _history(catalog, group_release) for group_release in declared}
    if as_json:
        typer.echo(json.dumps({name: history for name, (_, history) in histories.items()}, indent=2))
        return
    for name, (current, history) in histories.items():
        _show_history(context, name, current, history)


@release.command()
def rollback(
    ctx: typer.Context,
    group: Group,
    release_id: Annotated[str, typer.Argument(help="The release that readers shall get; one that is still kept.")],
    *,
    why: Annotated[str, typer.Option("--why", help="For the record.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this, only show what would change.")] = False,
    as_json: AsJson = False,
) -> None:
    """Let readers get another release: the pointer moves, no table is changed, and the record says who and why."""
    context = context_of(ctx)
    declared, catalog = _declared(context, group), catalog_of(context)
    now = load_pointer(catalog, declared.name).current.current
    if release_id != now and yes:
        today = datetime.now(ZoneInfo(context.settings.timezone)).date().isoformat()
        attempt = Attempt(run_id=f"cli-{uuid.uuid4()}", step=f"release:{declared.name}", runtime_date=today)
        operator = f"{getpass.getuser()}@{socket.gethostname()}"
        move_back(catalog, declared.name, release_id, attempt, by=operator, why=why)
    elif release_id != now:
        target = open_release(catalog, declared.name, release_id)
        for name in target.tables:
            target.table(name)
    if as_json:
        print_json({"group": group, "before": now, "release": release_id, "done": yes and release_id != now})
        return
    if release_id == now:
        lines = [f"Readers of {group} get {now} already; nothing to do."]
    elif yes:
        lines = [f"Readers of {group} get {release_id} now, {now} before."]
    else:
        lines = [f"Readers of {group} would get {release_id} instead of {now}."]
        lines += ["Nothing was changed. To do this, say the same with --yes."]
    for line in lines:
        context.out.print(line, highlight=False, soft_wrap=True)


def _declared(context: Context, group: str) -> Release:
    declarations = declarations_of(context)
    require_declared(declarations, "release", [group], declarations.releases)
    return declarations.releases[group]


def _history(catalog: LakeCatalog, declared: Release) -> tuple[str, list[dict[str, Any]]]:
    """The current id, and each move of the pointer with what has become of the release since."""
    try:
        pointer = load_pointer(catalog, declared.name)
    except NothingReleased:  # declared, and nothing was ever made
        return "", []
    now = pointer.statement
    if now is None:
        return "", []
    history: list[dict[str, Any]] = []
    for move in moves(pointer.base.table):
        entry = msgspec.to_builtins(move)
        history.append({**entry, "current": move.id == now.current, "readable": move.id in now.kept})
    return now.current, history


def _as_json(opened: OpenRelease, released: PointerRow | None, *, current: str) -> dict[str, Any]:
    return {
        "group": opened.group,
        "id": opened.id,
        "current": opened.id == current,
        "tag": tag_of(opened.id),
        "members": msgspec.to_builtins(opened.members),
        **(
            {key: value for key, value in msgspec.to_builtins(released).items() if key not in ("id", "members")}
            if released
            else {}
        ),
    }


def _show(context: Context, opened: OpenRelease, released: PointerRow | None) -> None:
    lines = Table(
        Column("table", no_wrap=True),
        Column("snapshot", no_wrap=True),
        Column("runtime date", no_wrap=True),
        Column("rows", justify="right", no_wrap=True),
        title=f"Release {opened.id}",
        title_justify="left",
    )
    for member in opened.members:
        rows = "?" if member.rows is None else f"{member.rows:,}"
        lines.add_row(member.table, str(member.snapshot_id), member.runtime_date or "dateless", rows)
    context.out.print(lines)
    notes = [f"Read each by its tag: SELECT … FROM lake.{opened.tables[0]} VERSION AS OF '{opened.tag}'"]
    if released:
        notes.insert(
            0,
            f"{released.kind} of {_time(context, released.timestamp)} by {released.moved_by}: {released.why}. "
            f"Parameters: {released.parameters}",
        )
    for line in notes:
        context.out.print(line, highlight=False, markup=False, soft_wrap=True)


def _show_history(context: Context, name: str, current: str, history: Sequence[dict[str, Any]]) -> None:
    if not history:
        context.out.print(f"{name}: nothing was released yet.", highlight=False)
        return
    # One line for each move, at any width: a table of so many columns would hide the last ones in a terminal of 80.
    context.out.print(f"{name}, now {current}", highlight=False, markup=False, soft_wrap=True)
    for move in history:
        state = "current" if move["current"] else "readable" if move["readable"] else "gone"
        when = _time(context, datetime.fromisoformat(move["at"]))
        context.out.print(
            f"  {move['id']}  {state:<8}  {move['kind']:<8}  {when}  {move['why']} (by {move['moved_by']})",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )


def _time(context: Context, moment: datetime) -> str:
    return moment.astimezone(ZoneInfo(context.settings.timezone)).strftime("%Y-%m-%d %H:%M")
