"""Verdicts that stand: a check that has judged these very tables is not asked again by `lakehouse run`.

A snapshot never changes, so neither does what was found of its rows: as long as it is judged by the same code and the
same declarations, and its files are there as they were written. Whether they are is asked anew each time, and so is
every check that has failed, or that depends on more than tables, such as on a topic or a clock. A warning stands as
a pass does, and is told again. `lakehouse audit` keeps nothing.
"""

from collections.abc import Iterable, Iterator

import dagster as dg

# What `get_asset_check_execution_history` returns; Dagster has no public name for it.
from dagster._core.storage.asset_check_execution_record import AssetCheckExecutionRecordStatus

from lakehouse.orchestration.checks import judged_state
from lakehouse.orchestration.checks.mirror import balance, contract, fold, ordering
from lakehouse.orchestration.checks.profile.judges import distribution_judges
from lakehouse.orchestration.checks.rules.judges import rule_judges
from lakehouse.orchestration.resources import Lake
from lakehouse.proofs.audit.stored_files import stored_otherwise
from lakehouse.protocol.seals.read_group import Pinned

JUDGED_BY_TAG = "lakehouse/judged_by"
_LOOKED_BACK = 50  # runs that planned it and had nothing new; then it is asked again


def kept_verdicts(
    lake: Lake, instance: dg.DagsterInstance, checks: Iterable[dg.AssetCheckKey], digest: str
) -> dict[dg.AssetCheckKey, dg.AssetCheckEvaluation]:
    """Check → what it said, of those whose last word still holds.

    Args:
        lake: with the tables.
        instance: what was recorded of checks.
        checks: that would be asked.
        digest: see `code_digest`.
    """
    tables = {check: lake.names.table(check.asset_key) for check in checks}
    readers = {table: set(_of_rows_alone(lake, table)) for table in set(tables.values())}
    wanted = [check for check, table in tables.items() if check.name in readers[table]]
    verdicts = dict(_not_failed(instance, wanted, digest))
    named = {name for check in verdicts for name in judged_state.judged_tables(tables[check], lake.declarations)}
    group = judged_state.pinned_tables(lake.catalog, named)
    states = {name: judged_state.state_of(pinned) for name, pinned in group.items()}
    now = {table: judged_state.judged_state(table, lake.declarations, states) for table in set(tables.values())}
    standing = {
        check: verdict
        for check, verdict in verdicts.items()
        if _stands(judged_state.known_state(verdict), now[tables[check]])
    }
    read = {name for check in standing for name in now[tables[check]] if name in group}
    broken = {name for name in read if not _is_whole(group[name])}
    return {check: verdict for check, verdict in standing.items() if not broken.intersection(now[tables[check]])}


def _of_rows_alone(lake: Lake, table: str) -> Iterator[str]:
    """The checks of a table whose answer depends on tables alone, and is worth remembering."""
    if table in lake.declarations.mirrors:
        yield from (balance.KEYS, contract.NAME, fold.NAME, ordering.ORDER)
    if (declared := lake.declarations.tables.get(table)) is not None:
        yield from (judge.name for judge in rule_judges(declared, lake.declarations))
        yield from (judge.name for judge in distribution_judges(declared, lake.declarations))


def _not_failed(
    instance: dg.DagsterInstance, checks: list[dg.AssetCheckKey], digest: str
) -> Iterator[tuple[dg.AssetCheckKey, dg.AssetCheckEvaluation]]:
    for check in checks:
        evaluation = _last_word(instance, check, digest)
        if evaluation is not None and (evaluation.passed or evaluation.severity is dg.AssetCheckSeverity.WARN):
            yield check, evaluation


def _last_word(instance: dg.DagsterInstance, check: dg.AssetCheckKey, digest: str) -> dg.AssetCheckEvaluation | None:
    """The newest result of a check, by this judge; None where there is none, or it ended without one."""
    for record in instance.event_log_storage.get_asset_check_execution_history(check, limit=_LOOKED_BACK):
        run = instance.get_run_by_id(record.run_id)
        if record.status is AssetCheckExecutionRecordStatus.PLANNED:
            # Each run plans all checks, and leaves out those of tables that have nothing new: that says nothing.
            if run is None or run.status is dg.DagsterRunStatus.SUCCESS:
                continue
            return None
        evaluation = record.evaluation
        same_judge = run is not None and run.tags.get(JUDGED_BY_TAG) == digest
        return evaluation if isinstance(evaluation, dg.AssetCheckEvaluation) and same_judge else None
    return None


def _stands(judged: dict[str, str], now: dict[str, str]) -> bool:
    return bool(judged) and judged == now


def _is_whole(pinned: Pinned) -> bool:
    """Whether storage has every file of a snapshot, in its size."""
    if pinned.snapshot_id is None:
        return True
    try:
        return not list(stored_otherwise(pinned.table, {pinned.snapshot_id: ""}))
    except OSError:  # the check that is asked then says what is wrong with the store
        return False
