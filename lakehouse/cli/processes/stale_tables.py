"""Which derived tables `lakehouse run` computes: those with news, and all that share an input with them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lakehouse.declarations.registry.derived_rules import order
from lakehouse.orchestration.assets.derived import derived_version
from lakehouse.orchestration.resources import Lake
from lakehouse.proofs.lineage.computations import computations_of
from lakehouse.proofs.lineage.content import ContentChange, compare
from lakehouse.proofs.lineage.origins import origins_of
from lakehouse.proofs.lineage.sealed import made
from lakehouse.protocol.seals.read_group import Pinned, read_group
from lakehouse.settings import value_digests
from lakehouse.steps.derived.inputs.component import component_of, external_inputs
from lakehouse.steps.derived.statement import DeriveStatement


@dataclass(frozen=True)
class StaleTables:
    """Why derived tables are computed now.

    Args:
        tables: those of one component, each after its inputs: half of them computed anew would not agree with the rest.
        why: in words.
    """

    tables: tuple[str, ...]
    why: str


def news(lake: Lake) -> Iterator[StaleTables]:
    """The components of derived tables that are not what they would be if they were computed now.

    One whose inputs nobody has written yet waits for them.
    """
    derived = lake.declarations.derived
    visited: set[str] = set()
    for first in order(derived):
        if first in visited:
            continue
        tables = component_of(first, derived)
        visited |= set(tables)
        external = external_inputs(tables, derived)
        group = read_group(lake.catalog, [*tables, *external])
        if any(group[name].snapshot_id is None for name in external):
            continue
        if why := next(filter(None, (_why(name, lake, group) for name in tables)), "") or _apart(tables, group):
            yield StaleTables(tuple(tables), why)


def _why(name: str, lake: Lake, group: Mapping[str, Pinned]) -> str:
    declared = lake.declarations.derived[name]
    seal = made(group[name].table, group[name].snapshot_id).seal
    statement = DeriveStatement.from_keys(seal.statement) if seal is not None else None
    if seal is None or statement is None:
        return f"{name} was never computed"
    if seal.code_version != derived_version(declared):
        return f"{name} is declared otherwise by now"
    computations, today = computations_of(seal), value_digests(lake.settings.parameters)
    used = computations[-1].used
    if statement.parameters != lake.settings.parameters if used is None else not used.items() <= today.items():
        return f"{name} was computed with other parameters"
    # New rows would not mend the old ones of an incremental table; of all others each part has to be as of now.
    growing = declared.mode == "incremental"
    if not growing and not all(computation.agrees_with(computations[-1]) for computation in computations):
        return f"parts of {name} were computed with other parameters"
    read = [seal.inputs] if growing else [origin.inputs for origin in origins_of(seal)]
    return next(
        (
            f"{given} has news"
            for given in declared.inputs.values()
            for inputs in read
            if _moved(inputs.get(given), group[given])
        ),
        "",
    )


def _apart(tables: Sequence[str], group: Mapping[str, Pinned]) -> str:
    """Whether tables or partitions were computed for different days: what is computed from both would be refused."""
    seals = [made(group[name].table, group[name].snapshot_id).seal for name in tables]
    dates = sorted({computation.runtime_date or "many days" for seal in seals for computation in computations_of(seal)})
    return f"derived tables are of {' and '.join(dates)}" if len(dates) > 1 else ""


def _moved(read: int | None, now: Pinned) -> bool:
    return (
        read is None or now.snapshot_id is None or compare(now.table, read, now.snapshot_id) is not ContentChange.SAME
    )
