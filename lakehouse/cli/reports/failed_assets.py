"""What a failed step keeps from being computed, and what it does not: all others go on."""

from collections.abc import Collection

import dagster as dg

from lakehouse.cli.reports.outcome import RunOutcome
from lakehouse.errors import LakehouseError
from lakehouse.orchestration.assets.stream import stream_step
from lakehouse.orchestration.resources import Lake
from lakehouse.orchestration.resources.stream_status import stream_status


def assets_of_steps(defs: dg.Definitions, steps: Collection[str]) -> set[dg.AssetKey]:
    """The assets that these steps write or check."""
    assets: set[dg.AssetKey] = set()
    for definition in defs.resolve_asset_graph().assets_defs:
        if definition.is_executable and definition.op.name in steps:  # assets of others are made by no step of ours
            assets |= {*definition.keys, *(check.asset_key for check in definition.check_keys)}
    return assets


def held_up(defs: dg.Definitions, steps: Collection[str]) -> set[dg.AssetKey]:
    """The assets of failed steps, all that is computed from them, and what a step can only make with one of those."""
    failed = assets_of_steps(defs, steps)
    selection = dg.AssetSelection.assets(*sorted(failed)).downstream().required_multi_asset_neighbors()
    return set(selection.resolve(defs.resolve_asset_graph())) if failed else set()


def unread(lake: Lake, outcome: RunOutcome) -> int:
    """Offsets that streams have not read, but those whose step failed; a stream that cannot be asked is such a one."""
    lag = 0
    for stream in lake.declarations.streams.values():
        if (step := stream_step(stream)) in outcome.failures:
            continue
        try:
            lag += stream_status(lake, stream).lag
        except LakehouseError as trouble:
            outcome.failures[step] = str(trouble)
    return lag
