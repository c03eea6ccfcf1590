"""`lakehouse rebuild`: fold a mirror's whole changelog anew, and put the result in the place of what is there."""

from typing import Annotated

import typer
from rich.table import Column, Table

from lakehouse.cli.context import Context, context_of
from lakehouse.cli.declared import catalog_of, declarations_of
from lakehouse.cli.reports.positions import counted
from lakehouse.declarations import MirrorTables
from lakehouse.errors import LakehouseError
from lakehouse.iceberg.names import identifier_of
from lakehouse.protocol.errors import SealBroken
from lakehouse.protocol.seals.history import summary_of
from lakehouse.protocol.seals.read_group import read_group
from lakehouse.steps.cdc.status import mirror_standing


class UnknownMirror(LakehouseError):
    """No mirror of this name is declared."""


class NothingToFold(LakehouseError):
    """The mirror's changelog holds no sealed change."""


def rebuild(
    ctx: typer.Context,
    mirror: Annotated[str, typer.Argument(help="The mirror, as namespace.table.")],
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this, only show what would be done.")] = False,
) -> None:
    """Fold a mirror's whole changelog anew; readers see the old rows until all new ones are published at once."""
    context = context_of(ctx)
    tables = mirror_of(context, mirror)
    _show(context, tables)
    if not yes:
        context.out.print("Nothing was changed. To do this, say the same with --yes.")
        return
    _rebuild(context, tables)


def _rebuild(context: Context, tables: MirrorTables) -> None:
    # Dagster takes a second to import, and a look at what would be done goes without.
    from lakehouse.cli.processes.materialize import rebuild as run_rebuild
    from lakehouse.cli.processes.single_run import make_run
    from lakehouse.cli.reports.mirror_report import show_mirrored
    from lakehouse.orchestration.resources import Lake

    make_run(
        context,
        lambda mark: run_rebuild(context, mark, tables),
        lambda outcome: show_mirrored(context, Lake(context.settings), outcome, [tables.mirror.name]),
    )


def mirror_of(context: Context, name: str) -> MirrorTables:
    """A mirror by name.

    Raises:
        UnknownMirror: nobody declared it.
    """
    mirrors = declarations_of(context).mirrors
    if name not in mirrors:
        raise UnknownMirror(
            f"There is no mirror {name}.", remedy=f"name one of {', '.join(sorted(mirrors)) or '(none)'}"
        )
    return mirrors[name]


def _show(context: Context, tables: MirrorTables) -> None:
    """What would happen: how many changes become how many rows, in the place of which.

    Raises:
        NothingToFold: the changelog is empty; a rebuild would leave an empty mirror.
    """
    catalog = catalog_of(context)
    name, log = tables.mirror.name, tables.changelog.name
    exists = catalog.table_exists(identifier_of(log))
    newest = read_group(catalog, [log])[log].sealed if exists else None
    if newest is None:
        raise NothingToFold(f"{log} holds no change that an ingest has sealed.", remedy="let its stream run first")
    snapshot = catalog.load_table(identifier_of(log)).metadata.snapshot_by_id(newest.snapshot_id)
    changes = int(summary_of(snapshot).get("total-records", "0")) if snapshot else 0
    try:
        found = mirror_standing(catalog, tables)
        rows, position = counted(found.rows), str((found.sealed and found.sealed.position) or "nothing yet")
    except SealBroken as broken:  # which a rebuild may be the remedy for
        rows, position = "?", broken.message
    shown = Table(
        Column("mirror", no_wrap=True),
        Column("rows it replaces", justify="right"),
        Column("reached", overflow="fold"),
        Column("changes it folds", justify="right"),
        "of",
    )
    shown.add_row(name, rows, position, f"{changes:,}", log + (f" on {i}" if (i := tables.mirror.initial) else ""))
    context.out.print(shown)
    context.out.print(f"Up to snapshot {newest.snapshot_id} of {log}.", highlight=False)
