"""`lakehouse housekeep`: removes what killed runs left behind."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Annotated

import typer
from pyiceberg.exceptions import CommitFailedException
from rich.table import Column, Table

from lakehouse.cli.context import Context, catalog_of, context_of
from lakehouse.cli.declared import whole_declarations
from lakehouse.cli.durations import duration
from lakehouse.iceberg.names import identifier_of
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.cleanup.housekeeping import Abandoned, abandoned_branches, drop_branch
from lakehouse.protocol.cleanup.store_clock import require_age_clock
from lakehouse.quantities import quantity


@dataclass
class Swept:
    """One abandoned branch, and what became of it.

    Attributes:
        outcome: `found`, `removed`, or `kept`: it was published or moved while we looked.
        files: data files that were deleted with it.
    """

    table: str
    branch: str
    age_hours: float
    outcome: str = "found"
    files: int = 0


def housekeep(
    ctx: typer.Context,
    *,
    older_than: Annotated[str, typer.Option(help="Leave younger branches: a run may still be at work.")] = "24h",
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this, only show what would be removed.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Remove branches of runs that died before they published, with the files that only those can see."""
    context = context_of(ctx)
    age = duration(older_than, "--older-than")
    catalog = catalog_of(context)
    abandoned = _abandoned(catalog, list(whole_declarations(context).tables), age)
    if yes:
        for name in dict.fromkeys(branch.table for branch in abandoned):
            require_age_clock(catalog.load_table(identifier_of(name)))
    swept = [_sweep(catalog, branch) if yes else _not_removed(branch) for branch in abandoned]
    if as_json:
        typer.echo(json.dumps([asdict(branch) for branch in swept], indent=2))
    else:
        _show(context, swept, done=yes)


def _abandoned(catalog: LakeCatalog, names: Sequence[str], age: timedelta) -> list[Abandoned]:
    existing = [name for name in names if catalog.table_exists(identifier_of(name))]
    return [
        branch
        for name in existing
        for branch in abandoned_branches(catalog.load_table(identifier_of(name)), older_than=age)
    ]


def _not_removed(branch: Abandoned) -> Swept:
    return Swept(branch.table, branch.branch, round(branch.age.total_seconds() / 3600, 2))


def _sweep(catalog: LakeCatalog, branch: Abandoned) -> Swept:
    swept = _not_removed(branch)
    try:
        swept.files = drop_branch(catalog, branch)
        swept.outcome = "removed"
    except CommitFailedException:
        # It was published, or its run is alive after all: nothing was touched.
        swept.outcome = "kept"
    return swept


def _show(context: Context, swept: Sequence[Swept], *, done: bool) -> None:
    if not swept:
        context.out.print("Nothing was left behind.")
        return
    lines = Table(Column("table", no_wrap=True), "branch", Column("hours", justify="right"), "outcome")
    for line in swept:
        outcome = f"removed with {quantity(line.files, 'file')}" if line.outcome == "removed" else line.outcome
        lines.add_row(line.table, line.branch, f"{line.age_hours:,.1f}", outcome)
    context.out.print(lines)
    if not done:
        context.out.print("Nothing was changed. To remove them, say the same with --yes.")
