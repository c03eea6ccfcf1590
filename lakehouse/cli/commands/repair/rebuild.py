"""`lakehouse rebuild`: fold a mirror's whole changelog anew, and put the result in the place of what is there."""

from dataclasses import asdict, dataclass
from typing import Annotated, Any

import typer
from rich.table import Column, Table

from lakehouse.cli.context import AsJson, Context, catalog_of, context_of, print_json
from lakehouse.cli.declared import declarations_of, require_declared
from lakehouse.cli.reports.positions import counted, mirror_states
from lakehouse.declarations import MirrorTables
from lakehouse.errors import LakehouseError
from lakehouse.iceberg.names import identifier_of
from lakehouse.protocol.errors import SealBroken
from lakehouse.protocol.seals.history import summary_of
from lakehouse.protocol.seals.read_group import read_group
from lakehouse.steps.cdc.status import mirror_standing


class NothingToFold(LakehouseError):
    """The mirror's changelog holds no sealed change."""


@dataclass(frozen=True)
class WholeFold:
    """What a rebuild would do.

    Attributes:
        rows: that it replaces; None where nobody can say.
        position: that the mirror has reached; None before its first run, and where its seal is broken.
        changes: that it folds.
        up_to: snapshot of the changelog.
        initial: the table that the mirror began from, if it did.
        problem: why nobody can say, which a rebuild may be the remedy for.
    """

    mirror: str
    rows: int | None
    position: str | None
    changelog: str
    changes: int
    up_to: int
    initial: str | None
    problem: str | None = None


def rebuild(
    ctx: typer.Context,
    mirror: Annotated[str, typer.Argument(help="The mirror, as namespace.table.")],
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this, only show what would be done.")] = False,
    as_json: AsJson = False,
) -> None:
    """Fold a mirror's whole changelog anew; readers see the old rows until all new ones are published at once."""
    context = context_of(ctx)
    tables = mirror_of(context, mirror)
    fold = _fold_of(context, tables)
    if not as_json:
        _show(context, fold)
    if yes:
        _rebuild(context, tables, fold, as_json=as_json)
    elif as_json:
        print_json({**asdict(fold), "done": False})
    else:
        context.out.print("Nothing was changed. To do this, say the same with --yes.")


def _rebuild(context: Context, tables: MirrorTables, fold: WholeFold, *, as_json: bool) -> None:
    # Dagster takes a second to import, and a look at what would be done goes without.
    from lakehouse.cli.processes.materialize import rebuild as run_rebuild
    from lakehouse.cli.processes.single_run import make_run
    from lakehouse.cli.reports.mirror_report import show_mirrored
    from lakehouse.cli.reports.outcome import RunOutcome
    from lakehouse.orchestration.resources import Lake

    def show(outcome: RunOutcome) -> None:
        if as_json:
            done: dict[str, Any] = {**asdict(fold), "done": fold.mirror in outcome.mirrored, **outcome.as_data()}
            print_json(done)
        else:
            lake = Lake(context.settings)
            states = mirror_states(lake.declarations, lake.catalog)
            show_mirrored(context, lake, [state for state in states if state.mirror == fold.mirror], outcome)

    make_run(context, lambda mark: run_rebuild(context, mark, tables), show, as_json=as_json)


def mirror_of(context: Context, name: str) -> MirrorTables:
    """A mirror by name.

    Raises:
        UnknownName: nobody declared it.
    """
    declarations = declarations_of(context)
    require_declared(declarations, "mirror", [name], declarations.mirrors)
    return declarations.mirrors[name]


def _fold_of(context: Context, tables: MirrorTables) -> WholeFold:
    """What would happen: how many changes become the rows, in the place of which.

    Raises:
        NothingToFold: the changelog is empty; a rebuild would leave an empty mirror.
    """
    catalog = catalog_of(context)
    name, log, initial = tables.mirror.name, tables.changelog.name, tables.mirror.initial
    exists = catalog.table_exists(identifier_of(log))
    newest = read_group(catalog, [log])[log].sealed if exists else None
    if newest is None:
        raise NothingToFold(f"{log} holds no change that an ingest has sealed.", remedy="let its stream run first")
    snapshot = catalog.load_table(identifier_of(log)).metadata.snapshot_by_id(newest.snapshot_id)
    changes = int(summary_of(snapshot).get("total-records", "0")) if snapshot else 0
    try:
        standing = mirror_standing(catalog, tables)
    except SealBroken as broken:
        return WholeFold(name, None, None, log, changes, newest.snapshot_id, initial, broken.message)
    position = str(standing.sealed.position) if standing.sealed and standing.sealed.position else None
    return WholeFold(name, standing.rows, position, log, changes, newest.snapshot_id, initial)


def _show(context: Context, fold: WholeFold) -> None:
    shown = Table(
        Column("mirror", no_wrap=True),
        Column("rows it replaces", justify="right"),
        Column("reached", overflow="fold"),
        Column("changes it folds", justify="right"),
        "of",
    )
    source = fold.changelog + (f" on {fold.initial}" if fold.initial else "")
    reached = fold.problem or fold.position or "nothing yet"
    shown.add_row(fold.mirror, counted(fold.rows), reached, f"{fold.changes:,}", source)
    context.out.print(shown)
    context.out.print(f"Up to snapshot {fold.up_to} of {fold.changelog}.", highlight=False)
