"""`lakehouse lease take|list|release`: who needs old snapshots of a table, and a person's own hold on some."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Annotated

import typer
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table as IcebergTable

from lakehouse.cli.context import AsJson, Context, catalog_of, context_of, print_json
from lakehouse.cli.declared import all_declarations, declarations_of, whole_declarations
from lakehouse.cli.durations import duration
from lakehouse.declarations import Declarations
from lakehouse.errors import LakehouseError
from lakehouse.iceberg.names import identifier_of, table_name
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.leases.lease import Lease, release_lease, take_lease
from lakehouse.protocol.seals.history import ancestry, head_of
from lakehouse.steps.maintenance.expire.consumers import Consumer, consumers_of
from lakehouse.steps.maintenance.expire.holds import holders_of, holding_on
from lakehouse.steps.maintenance.expire.overdue import late
from lakehouse.steps.maintenance.model.state import SnapshotHold

lease = typer.Typer(
    name="lease", no_args_is_help=True, help="Who needs old snapshots of a table; they stay until a lease ends."
)


class NoLease(LakehouseError):
    """Nobody of this name has a lease on the table."""


class NotToLease(LakehouseError):
    """There is nothing to hold, or the name is taken."""


@dataclass(frozen=True)
class HolderLine:
    """One holder of a table's snapshots, as it is printed.

    Attributes:
        behind: how many snapshots of `main` came after it.
        state: `held`, or `overdue`.
    """

    table: str
    kind: str
    owner: str
    snapshot_id: int
    behind: int | None
    until: str | None
    state: str
    reason: str
    command: str


TableName = Annotated[str, typer.Argument(help="The table that is read, as namespace.table.")]
Owner = Annotated[str, typer.Argument(help="Whose lease: any name; it is what expiry names when it waits.")]


@lease.command()
def take(
    ctx: typer.Context,
    table: TableName,
    owner: Owner,
    *,
    lasting: Annotated[str, typer.Option("--for", help="How long: 90m, 24h, 7d. Overdue leases are loud.")],
    reason: Annotated[str, typer.Option("--reason", help="Why, for whoever waits for it.")],
    snapshot: Annotated[int | None, typer.Option("--snapshot", help="Which snapshot; default: the newest.")] = None,
    as_json: AsJson = False,
) -> None:
    """Keep a snapshot of a table, and all that follow it, from being expired. Taken again, the lease is renewed."""
    context = context_of(ctx)
    catalog, declarations = catalog_of(context), whole_declarations(context)
    until = datetime.now(UTC) + duration(lasting, "--for")
    loaded = _load(catalog, table)
    _require_free(table, owner, _readers(catalog, declarations, table))
    snapshot_id = head_of(loaded) if snapshot is None else snapshot
    if snapshot_id is None:
        raise NotToLease(
            f"{table} has no snapshot yet, so there is nothing to hold.",
            remedy="take it again when something has been written to the table",
        )
    if loaded.metadata.snapshot_by_id(snapshot_id) is None:
        raise NotToLease(
            f"{table} has no snapshot {snapshot_id}.", remedy=f"name one that SELECT … FROM {table}.snapshots lists"
        )
    new_lease = Lease(loaded.name(), str(loaded.metadata.table_uuid), owner, snapshot_id, until, reason)
    if not take_lease(catalog, new_lease):
        raise NotToLease(f"{table}: snapshot {snapshot_id} went while it was to be held.", remedy="hold a newer one")
    if as_json:
        summary = {
            "table": table,
            "owner": owner,
            "snapshot_id": snapshot_id,
            "until": until.isoformat(),
            "reason": reason,
        }
        print_json(summary)
        return
    message = f"{owner} holds snapshot {snapshot_id} of {table} and all that follow until {until:%Y-%m-%d %H:%M} UTC."
    context.out.print(message, highlight=False, markup=False, soft_wrap=True)


@lease.command(name="list")
def list_leases(
    ctx: typer.Context,
    table: Annotated[str | None, typer.Argument(help="One table; default: all that are declared.")] = None,
    *,
    every: Annotated[bool, typer.Option("--all", help="Also releases, pins, checkpoints, tags and branches.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of lines.")] = False,
) -> None:
    """Show who holds old snapshots, since where, until when and why; with who reads in ranges without a lease."""
    context = context_of(ctx)
    load = declarations_of if table else all_declarations
    catalog, declarations = catalog_of(context), load(context)
    names = [table] if table else [n for n in declarations.tables if catalog.table_exists(identifier_of(n))]
    shown = [line for name in names for line in _shown(_load(catalog, name), catalog, declarations, every=every)]
    if as_json:
        typer.echo(json.dumps([asdict(line) for line in shown], indent=2))
    else:
        _print(context, shown)


@lease.command()
def release(
    ctx: typer.Context,
    table: TableName,
    owner: Owner,
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this, only show what would change.")] = False,
    as_json: AsJson = False,
) -> None:
    """End a lease. What a mirror or an incremental table has still to read is given up: it will need a rebuild."""
    context = context_of(ctx)
    catalog, declarations = catalog_of(context), whole_declarations(context)
    loaded = _load(catalog, table)
    holders = [holder for holder in _range_holders(loaded, catalog, declarations) if holder.owner == owner]
    if not holders:
        raise NoLease(f"{owner} holds nothing of {table}.", remedy="`lakehouse lease list` names everybody")
    oldest = max((_behind(loaded, holder.snapshot_id) or 0) for holder in holders)
    consumer = next((reader for reader in _readers(catalog, declarations, table) if reader.name == owner), None)
    message = f"{owner} holds {table} back to snapshot {holders[0].snapshot_id}, {oldest} snapshots before the newest"
    if consumer is not None and oldest:
        message += f"; what it has not read of them is given up, and {owner} will need a rebuild"
    elif consumer is not None:
        message += f"; what comes before its next run is not kept for it, and {owner} may need a rebuild then"
    if yes:
        _end(catalog, loaded, owner, consumer)
    if as_json:
        ended = {"table": table, "owner": owner, "snapshot_id": holders[0].snapshot_id, "behind": oldest, "done": yes}
        print_json({**ended, "needs_rebuild": consumer is not None and bool(oldest)})
        return
    context.out.print(f"{'Ended: ' if yes else ''}{message}.", highlight=False, markup=False, soft_wrap=True)
    if not yes:
        context.out.print("Nothing was changed. To end this, say the same with --yes.")


def _end(catalog: LakeCatalog, table: IcebergTable, owner: str, consumer: Consumer | None) -> None:
    """End a lease.

    Raises:
        NoLease: its owner has moved it meanwhile.
    """
    try:
        release_lease(catalog, table.name(), owner, give_up=consumer.read if consumer is not None else None)
    except CommitFailedException as moved:
        raise NoLease(
            f"{owner} is at work: its lease on {table_name(table)} was moved meanwhile, and stays.",
            remedy="look at `lakehouse lease list`, and say it again if it is still meant",
        ) from moved


def _require_free(table: str, owner: str, readers: Sequence[Consumer]) -> None:
    """Refuse a name that is a reader's.

    Raises:
        NotToLease: it is.
    """
    if any(reader.name == owner for reader in readers):
        raise NotToLease(
            f"{owner} reads {table} in ranges, and its own lease says how far.",
            remedy="choose another name: this one would make it lose what it has still to read",
        )


def _load(catalog: LakeCatalog, name: str) -> IcebergTable:
    return catalog.load_table(identifier_of(name))


def _readers(catalog: LakeCatalog, declarations: Declarations, table: str) -> Sequence[Consumer]:
    return consumers_of(catalog, declarations, table)


def _range_holders(table: IcebergTable, catalog: LakeCatalog, declarations: Declarations) -> list[SnapshotHold]:
    return [holder for holder in holding_on(catalog, declarations, table) if holder.kind != "branch"]


def _shown(table: IcebergTable, catalog: LakeCatalog, declarations: Declarations, *, every: bool) -> list[HolderLine]:
    holders = (holders_of if every else holding_on)(catalog, declarations, table)
    overdue = late(holders, datetime.now(UTC))
    return [
        HolderLine(
            table=table_name(table),
            kind=holder.kind,
            owner=holder.owner,
            snapshot_id=holder.snapshot_id,
            behind=_behind(table, holder.snapshot_id),
            until=holder.until.isoformat() if holder.until is not None else None,
            state="overdue" if holder in overdue else "held",
            reason=holder.reason,
            command=holder.command,
        )
        for holder in holders
    ]


def _behind(table: IcebergTable, snapshot_id: int) -> int | None:
    """How many snapshots of main came after one; None where it is not in main."""
    line = [snapshot.snapshot_id for snapshot in ancestry(table, head_of(table))]
    return line.index(snapshot_id) if snapshot_id in line else None


def _print(context: Context, shown: Sequence[HolderLine]) -> None:
    if not shown:
        context.out.print("Nobody holds old snapshots.")
        return
    context.out.print("TABLE  STATE  WHO  SNAPSHOT  UNTIL  WHY", highlight=False, soft_wrap=True)
    for holder in shown:
        until = f"until {holder.until[:16]} UTC" if holder.until else "without end"
        behind = f"{holder.behind} behind" if holder.behind is not None else "not in main"
        line = f"{holder.table}  {holder.state:<7}  {holder.kind} {holder.owner}  snapshot {holder.snapshot_id}"
        context.out.print(
            f"{line} ({behind})  {until}  {holder.reason}".rstrip(), highlight=False, markup=False, soft_wrap=True
        )
