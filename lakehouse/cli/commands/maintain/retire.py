"""`lakehouse checkpoint` and `lakehouse retire`: prove a mirror for good, and let old changes go."""

import uuid
from datetime import datetime
from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from lakehouse.cli.commands.repair.rebuild import mirror_of
from lakehouse.cli.context import AsJson, catalog_of, context_of, print_json
from lakehouse.cli.declared import require_declared, whole_declarations
from lakehouse.errors import LakehouseError
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.quantities import quantity
from lakehouse.steps.cdc.changelog_cleanup.checkpoint import make_checkpoint
from lakehouse.steps.cdc.changelog_cleanup.readers import read_on_or_release
from lakehouse.steps.cdc.changelog_cleanup.retire import find_retirable, remove_retirable


class NoRetention(LakehouseError):
    """The changelog keeps its changes forever."""


def checkpoint(
    ctx: typer.Context,
    mirror: Annotated[str, typer.Argument(help="The mirror, as namespace.table.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Compare every row of a mirror with its changelog, and tag that state: later checks may begin there."""
    context = context_of(ctx)
    tables = mirror_of(context, mirror)
    with context.err.status(f"comparing every row of {mirror} with its changelog"):
        checkpointed = make_checkpoint(catalog_of(context), tables)
    rows, position = checkpointed.statement.rows, checkpointed.statement.position
    if as_json:
        print_json({"mirror": mirror, "rows": rows, "position": str(position), "tag": checkpointed.tag})
        return
    context.out.print(
        f"{mirror} is its changelog, {quantity(rows, 'row')} at position {position}: tagged {checkpointed.tag}.",
        highlight=False,
        soft_wrap=True,
    )


def retire(
    ctx: typer.Context,
    changelog: Annotated[str, typer.Argument(help="The changelog, as namespace.table.")],
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this, only show what would go.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove changes past the changelog's retention that every mirror has in a checkpoint and all others have read."""
    context = context_of(ctx)
    declarations, catalog = whole_declarations(context), catalog_of(context)
    require_declared(declarations, "changelog", [changelog], declarations.changelogs)
    log = declarations.changelogs[changelog]
    if log.retention is None:
        raise NoRetention(f"{changelog} keeps its changes forever.", remedy="declare a retention first")
    mirrors = [mirror for mirror in declarations.mirrors.values() if mirror.changelog.name == changelog]
    followers = [d for d in declarations.derived.values() if d.follows and d.inputs[d.follows] == changelog]
    stream = declarations.streams[log.stream_name]
    retirable = find_retirable(catalog, log, stream, mirrors, followers=followers)
    if retirable is not None and yes:
        today = datetime.now(ZoneInfo(context.settings.timezone)).date().isoformat()
        attempt = Attempt(run_id=f"cli-{uuid.uuid4()}", step=f"retire:{stream.name}", runtime_date=today)
        remove_retirable(catalog, log, retirable, attempt)
    if as_json:
        before = dict(sorted(retirable.before.items())) if retirable else {}
        rows, done = retirable.rows if retirable else 0, retirable is not None and yes
        behind = list(retirable.behind) if retirable else []
        print_json({"changelog": changelog, "changes": rows, "before": before, "behind": behind, "done": done})
    elif retirable is None:
        context.out.print(f"{changelog}: no change is older than {log.retention} and in every checkpoint.")
    else:
        where = ", ".join(f"{partition}:{offset}" for partition, offset in sorted(retirable.before.items()))
        message = f"{retirable.rows:,} changes of {changelog}, in each partition what is before {where}"
        context.out.print(f"{'Removed' if yes else 'Would remove'} {message}.", highlight=False, soft_wrap=True)
        if retirable.behind:
            remedy = read_on_or_release(changelog, retirable.behind)
            late = f"More is old enough, and not read yet: {remedy}."
            context.out.print(late, highlight=False, soft_wrap=True)
        if not yes:
            context.out.print("Nothing was changed. To do this, say the same with --yes.")
