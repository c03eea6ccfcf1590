"""The checks of a mirror: one op, without Spark, each question answered for itself.

A check that cannot be answered (the changes are gone, a table is missing) raises: Dagster then shows it as not
executed, which is not the same as failed. What was answered before that stays answered.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import dagster as dg

from lakehouse.cdc.backlog import backlog
from lakehouse.cdc.balance import check_balance
from lakehouse.cdc.contract import check_contract
from lakehouse.cdc.doubt import find_doubt
from lakehouse.cdc.evidence import Evidence, read_evidence
from lakehouse.cdc.order import check_order
from lakehouse.cdc.unique import check_keys
from lakehouse.cdc.verify import check_fold
from lakehouse.checks import mirror_balance, mirror_contract, mirror_doubt, mirror_fold, mirror_order
from lakehouse.resources import Lake
from lakehouse.tables import Declarations, MirrorTables


@dataclass(frozen=True)
class Question:
    """What the checks of one mirror share: its tables, loaded once, together."""

    lake: Lake
    tables: MirrorTables
    key: dg.AssetKey

    @cached_property
    def evidence(self) -> Evidence:
        """The tables at one moment."""
        return read_evidence(self.lake.catalog, self.tables)


Answer = Callable[[Question], dg.AssetCheckResult]


def _balance(asked: Question) -> dg.AssetCheckResult:
    return mirror_balance.balance_result(check_balance(asked.tables, asked.evidence), asked.key)


def _delay(asked: Question) -> dg.AssetCheckResult:
    return mirror_order.delay_result(backlog(asked.evidence), asked.tables.mirror.target_lag, asked.key)


def _keys(asked: Question) -> dg.AssetCheckResult:
    return mirror_balance.keys_result(check_keys(asked.tables, asked.evidence.mirror), asked.key)


def _order(asked: Question) -> dg.AssetCheckResult:
    return mirror_order.order_result(check_order(asked.tables, asked.evidence), asked.key)


def _doubt(asked: Question) -> dg.AssetCheckResult:
    found = find_doubt(asked.lake.catalog, asked.tables, asked.lake.declarations, evidence=asked.evidence)
    assert found is not None  # without a limit it never gives up
    return mirror_doubt.doubt_result(found, asked.key)


def _contract(asked: Question) -> dg.AssetCheckResult:
    return mirror_contract.contract_result(check_contract(asked.tables, asked.evidence.mirror), asked.key)


def _fold(asked: Question) -> dg.AssetCheckResult:
    proof = check_fold(asked.lake.catalog, asked.tables, evidence=asked.evidence)
    return mirror_fold.fold_result(proof, asked.key)


# Cheap ones first: what they say stays said if a later one cannot be answered.
_CHECKS: Mapping[str, tuple[str, Answer]] = {
    mirror_balance.BALANCE: (mirror_balance.BALANCE_DESCRIPTION, _balance),
    mirror_order.DELAY: (mirror_order.DELAY_DESCRIPTION, _delay),
    mirror_balance.KEYS: (mirror_balance.KEYS_DESCRIPTION, _keys),
    mirror_order.ORDER: (mirror_order.ORDER_DESCRIPTION, _order),
    mirror_doubt.NAME: (mirror_doubt.DESCRIPTION, _doubt),
    mirror_contract.NAME: (mirror_contract.DESCRIPTION, _contract),
    mirror_fold.NAME: (mirror_fold.DESCRIPTION, _fold),
}


def mirror_check_specs(tables: MirrorTables) -> list[dg.AssetCheckSpec]:
    """Which checks a mirror has; all of them are the mirror table's."""
    key = dg.AssetKey(list(tables.mirror_table.identifier))
    return [
        # A mirror that is not its changelog is no ground to compute on, or to release.
        dg.AssetCheckSpec(name, asset=key, description=told, blocking=name == mirror_fold.NAME)
        for name, (told, _) in _CHECKS.items()
    ]


def mirror_checks(tables: MirrorTables, declarations: Declarations) -> dg.AssetChecksDefinition:
    """Make the checks of one mirror.

    Args:
        tables: the mirror with its changelog.
        declarations: where both are declared.
    """
    assert tables.mirror.name in declarations.mirrors
    key = dg.AssetKey(list(tables.mirror_table.identifier))

    @dg.multi_asset_check(
        name=f"prove_{'_'.join(tables.mirror_table.identifier)}",
        description=f"Proves that mirror {tables.mirror.name} is what its changelog makes, from tables alone.",
        specs=mirror_check_specs(tables),
        can_subset=True,
    )
    def prove_mirror(
        context: dg.AssetCheckExecutionContext, lake: dg.ResourceParam[Lake]
    ) -> Iterator[dg.AssetCheckResult]:
        asked = Question(lake, tables, key)
        wanted = {check.name for check in context.selected_asset_check_keys}
        yield from (answer(asked) for name, (_, answer) in _CHECKS.items() if name in wanted)

    return prove_mirror
