"""A pin goes with its run: who set it is asked of Dagster, and the tags of whoever works no more are dropped.

The next run that pins a table drops them in its own commit; the look of the audit log drops them where none follows. A
run that Dagster does not know, of another machine or long forgotten, keeps its tags until they end by themselves.
"""

import re
from collections.abc import Collection, Iterable
from functools import partial

import structlog
from dagster import DagsterInstance, RunsFilter
from dagster._core.execution.backfill import BULK_ACTION_TERMINAL_STATUSES
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table.update import AssertTableUUID

from lakehouse.iceberg.names import identifier_of, name_of
from lakehouse.orchestration.resources.run_records import FINISHED, UNFINISHED
from lakehouse.orchestration.run_context import Execution
from lakehouse.protocol.catalog import CANNOT_LOAD, LakeCatalog, TableChange, ref_is, remove_ref
from lakehouse.protocol.leases.references import commit_missing
from lakehouse.steps.derived.inputs.pins import Pin, pin_owner

_ROOT_TAG = "dagster/root_run_id"
_RUN = re.compile(r"[0-9a-f]{8}(_[0-9a-f]{4}){3}_[0-9a-f]{12}")
_log = structlog.get_logger(__name__)


def pin_of_execution(execution: Execution, instance: DagsterInstance) -> Pin:
    """The pin of what Dagster started: a run with its re-executions, or a backfill."""
    return Pin(execution.id, execution.begun_ms, partial(ended_owners, instance))


def ended_owners(instance: DagsterInstance, owners: Collection[str]) -> set[str]:
    """Which owners of pins have ended: the run and all of its re-executions, or the backfill.

    Args:
        instance: where runs are recorded.
        owners: as the tags name them: `_` for every other sign, and perhaps more behind the id of a run.
    """
    runs = {owner: match[0].replace("_", "-") for owner in owners if (match := _RUN.match(owner))}
    finished, busy = set[str](), set[str]()
    if runs:
        ids = sorted(set(runs.values()))
        records = instance.get_run_records(RunsFilter(run_ids=ids, statuses=FINISHED))
        finished = {record.dagster_run.run_id for record in records}
        again = instance.get_run_records(RunsFilter(tags={_ROOT_TAG: ids}, statuses=UNFINISHED))
        busy = {record.dagster_run.tags[_ROOT_TAG] for record in again}
    backfills = [owner for owner in owners if owner not in runs]
    return {owner for owner, run_id in runs.items() if run_id in finished - busy} | {
        owner for owner in backfills if _has_ended(instance, owner)
    }


def drop_ended_pins(catalog: LakeCatalog, names: Iterable[str], instance: DagsterInstance) -> int:
    """Drop the tags of all whose run has ended; returns how many.

    A table that cannot be loaded, or that others commit to all the while, is left for the next look.
    """
    dropped = 0
    for identifier in catalog.locations([identifier_of(name) for name in names]).known:
        try:
            tags = _ended_tags(catalog, identifier, instance)
            if tags:
                missing = partial(_removal, catalog, identifier, tags)
                commit_missing(catalog, missing, what=f"{name_of(identifier)}: the end of the pins {', '.join(tags)}")
        except (*CANNOT_LOAD, CommitFailedException) as error:
            _log.warning("pins_left", table=name_of(identifier), reason=str(error))
        else:
            dropped += len(tags)
    return dropped


def _ended_tags(catalog: LakeCatalog, identifier: tuple[str, ...], instance: DagsterInstance) -> list[str]:
    refs = catalog.load_table(identifier).metadata.refs
    owner_of = {tag: owner for tag in refs if (owner := pin_owner(tag)) is not None}
    ended = ended_owners(instance, set(owner_of.values())) if owner_of else set()
    return sorted(tag for tag, owner in owner_of.items() if owner in ended)


def _removal(catalog: LakeCatalog, identifier: tuple[str, ...], tags: Collection[str]) -> list[TableChange]:
    table = catalog.load_table(identifier)
    left = [tag for tag in tags if tag in table.metadata.refs]
    if not left:
        return []
    return [
        TableChange(
            identifier,
            (
                AssertTableUUID(uuid=table.metadata.table_uuid),
                *(ref_is(tag, table.metadata.refs[tag].snapshot_id) for tag in left),
            ),
            tuple(remove_ref(tag) for tag in left),
        )
    ]


def _has_ended(instance: DagsterInstance, backfill_id: str) -> bool:
    backfill = instance.get_backfill(backfill_id)
    return backfill is not None and backfill.status in BULK_ACTION_TERMINAL_STATUSES
