"""The checks of a mirror: one op, without Spark, each question answered for itself.

A check that cannot be answered (the changes are gone, a table is missing) raises: Dagster then shows it as not
executed, which is not the same as failed. What was answered before that stays answered.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import dagster as dg

from lakehouse.declarations import Declarations, MirrorTables
from lakehouse.orchestration.checks.judged_state import (
    judged_state,
    judged_tables,
    pinned_tables,
    state_of,
    with_state,
)
from lakehouse.orchestration.checks.mirror import balance, contract, doubt, fold, ordering
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES, DagsterNames
from lakehouse.orchestration.resources import Lake
from lakehouse.steps.cdc.evidence import Evidence, read_evidence
from lakehouse.steps.cdc.verify.backlog import backlog
from lakehouse.steps.cdc.verify.contract import check_contract
from lakehouse.steps.cdc.verify.counters import check_balance
from lakehouse.steps.cdc.verify.doubt import find_doubt
from lakehouse.steps.cdc.verify.ordering import check_order
from lakehouse.steps.cdc.verify.unique import check_keys
from lakehouse.steps.cdc.verify.verify import check_fold


@dataclass(frozen=True)
class MirrorCheck:
    """What the checks of one mirror share: its tables, loaded once, together."""

    lake: Lake
    tables: MirrorTables
    key: dg.AssetKey

    @cached_property
    def evidence(self) -> Evidence:
        """The tables at one moment."""
        return read_evidence(self.lake.catalog, self.tables)


Answer = Callable[[MirrorCheck], dg.AssetCheckResult]


def _balance(check: MirrorCheck) -> dg.AssetCheckResult:
    return balance.balance_result(check_balance(check.tables, check.evidence), check.key)


def _delay(check: MirrorCheck) -> dg.AssetCheckResult:
    return ordering.delay_result(backlog(check.evidence), check.tables.mirror.target_lag, check.key)


def _keys(check: MirrorCheck) -> dg.AssetCheckResult:
    return balance.keys_result(check_keys(check.tables, check.evidence.mirror), check.key)


def _order(check: MirrorCheck) -> dg.AssetCheckResult:
    return ordering.order_result(check_order(check.tables, check.evidence), check.key)


def _doubt(check: MirrorCheck) -> dg.AssetCheckResult:
    keys_in_doubt = find_doubt(check.lake.catalog, check.tables, check.lake.declarations, evidence=check.evidence)
    assert keys_in_doubt is not None  # without a limit it never gives up
    return doubt.doubt_result(keys_in_doubt, check.key)


def _contract(check: MirrorCheck) -> dg.AssetCheckResult:
    return contract.contract_result(check_contract(check.tables, check.evidence.mirror), check.key)


def _fold(check: MirrorCheck) -> dg.AssetCheckResult:
    proof = check_fold(check.lake.catalog, check.tables, evidence=check.evidence)
    return fold.fold_result(proof, check.key)


# Cheap ones first: what they say stays said if a later one cannot be answered.
_CHECKS: Mapping[str, tuple[str, Answer]] = {
    balance.BALANCE: (balance.BALANCE_DESCRIPTION, _balance),
    ordering.DELAY: (ordering.DELAY_DESCRIPTION, _delay),
    balance.KEYS: (balance.KEYS_DESCRIPTION, _keys),
    ordering.ORDER: (ordering.ORDER_DESCRIPTION, _order),
    doubt.NAME: (doubt.DESCRIPTION, _doubt),
    contract.NAME: (contract.DESCRIPTION, _contract),
    fold.NAME: (fold.DESCRIPTION, _fold),
}


def mirror_check_specs(tables: MirrorTables, names: DagsterNames = DEFAULT_NAMES) -> list[dg.AssetCheckSpec]:
    """Which checks a mirror has; all of them are the mirror table's."""
    key = names.key(tables.mirror.name)
    return [
        # A mirror that is not its changelog is no ground to compute on, or to release.
        dg.AssetCheckSpec(name, asset=key, description=description, blocking=name == fold.NAME)
        for name, (description, _) in _CHECKS.items()
    ]


def mirror_checks(
    tables: MirrorTables, declarations: Declarations, names: DagsterNames = DEFAULT_NAMES
) -> dg.AssetChecksDefinition:
    """Make the checks of one mirror.

    Args:
        tables: the mirror with its changelog.
        declarations: where both are declared.
        names: how Dagster knows them.
    """
    assert tables.mirror.name in declarations.mirrors
    key, judged = names.key(tables.mirror.name), judged_tables(tables.mirror.name, declarations)

    @dg.multi_asset_check(
        name=f"prove_{'_'.join(tables.mirror_table.identifier)}",
        description=f"Proves that mirror {tables.mirror.name} is what its changelog makes, from tables alone.",
        specs=mirror_check_specs(tables, names),
        can_subset=True,
    )
    @names.resources
    def prove_mirror(
        context: dg.AssetCheckExecutionContext, lake: dg.ResourceParam[Lake]
    ) -> Iterator[dg.AssetCheckResult]:
        question = MirrorCheck(lake, tables, key)
        wanted = {check.name for check in context.selected_asset_check_keys}
        states = {name: state_of(pinned) for name, pinned in pinned_tables(lake.catalog, judged).items()}
        state = judged_state(tables.mirror.name, declarations, states)
        answers = (answer(question) for name, (_, answer) in _CHECKS.items() if name in wanted)
        yield from (with_state(answer, state) for answer in answers)

    return prove_mirror
