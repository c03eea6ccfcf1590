"""`lakehouse run` computes derived tables after everything else, and releases what was computed.

Not in the run of everything: there, Dagster leaves out what has an input without news, and half of the tables of one
date would not agree with the other half of another.
"""

from collections.abc import Callable, Collection, Iterable, Sequence

import dagster as dg

from lakehouse.cli.processes.stale_tables import news
from lakehouse.declarations import Declarations
from lakehouse.orchestration.assets.release import release_step
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES, DagsterNames
from lakehouse.orchestration.resources import Lake
from lakehouse.protocol.seals.read_group import read_group
from lakehouse.quantities import quantity

Run = Callable[[Sequence[dg.AssetKey]], None]


def later_assets(declarations: Declarations, names: DagsterNames = DEFAULT_NAMES) -> dg.AssetSelection:
    """Derived tables, releases, and all that users compute from them."""
    pointers = [release.pointer for release in declarations.releases.values()]
    return dg.AssetSelection.assets(*_keys([*declarations.derived, *pointers], names)).downstream()


def derive_news(
    lake: Lake, defs: dg.Definitions, run: Run, inform: Callable[[str], None], held_up: Collection[dg.AssetKey] = ()
) -> None:
    """Compute the derived tables that have news, each component in one run with its releases.

    Args:
        lake: where they are.
        defs: with all assets.
        run: executes assets.
        inform: progress.
        held_up: what is not computed, because something before it failed; nor is the rest of its component.
    """
    graph = defs.resolve_asset_graph()
    for stale in news(lake):
        if waiting := set(_keys(stale.tables, lake.names)).intersection(held_up):
            inform(f"not computed, since what they read failed: {', '.join(map(lake.names.table, sorted(waiting)))}")
            continue
        inform(f"{stale.why}: computing {quantity(len(stale.tables), 'derived table')}")
        run(sorted(dg.AssetSelection.assets(*_keys(stale.tables, lake.names)).downstream().resolve(graph)))


def release_rest(lake: Lake, steps: Collection[str], run: Run) -> None:
    """Try the releases that no run has tried: one that was held goes ahead as soon as what held it is mended.

    Args:
        lake: where they are.
        steps: that were tried.
        run: executes assets.
    """
    for release in lake.declarations.releases.values():
        written = all(member.snapshot_id for member in read_group(lake.catalog, release.members).values())
        if written and release_step(release) not in steps:
            run(_keys([release.pointer], lake.names))


def _keys(tables: Iterable[str], names: DagsterNames) -> list[dg.AssetKey]:
    return [names.key(table) for table in tables]
