"""Numbers of distinct values for query planners, in a file beside the table: no row and no snapshot changes."""

import time

from pyspark.errors import PySparkException

from lakehouse.declarations.own_tables.action_effect import ActionEffect
from lakehouse.engines.spark.naming import quoted_name, quoted_text
from lakehouse.errors import LakehouseError
from lakehouse.protocol.seals.history import head_of, summary_of
from lakehouse.steps.maintenance.model.action import Action, ActionOutcome, MaintenanceWork
from lakehouse.steps.maintenance.model.preconditions import require_safe
from lakehouse.steps.maintenance.rewrite.before_after import of_files

PROCEDURE = "compute_table_stats"


class StatisticsFailed(LakehouseError):
    """Spark could not compute them."""


def run(work: MaintenanceWork, action: Action) -> ActionOutcome:
    """Compute statistics of the columns that the policy names, of all if it names none.

    Raises:
        StatisticsFailed: Spark could not.
    """
    policy, snapshot_id = work.policy.statistics, work.base.snapshot_id
    began, before = time.monotonic(), of_files(work.base.table)
    if policy is None:
        raise ValueError(f"{work.base.name} has no statistics: its policy says so.")
    if snapshot_id is None:
        return ActionOutcome(action=action, result="nothing", before=before, message="the table has no rows yet")
    require_safe(PROCEDURE, {})
    arguments = {
        "table": quoted_text(quoted_name(*work.base.identifier)),
        # By number: what is committed meanwhile has statistics of its own some day.
        "snapshot_id": f"{snapshot_id}L",
        **({"columns": f"array({', '.join(map(quoted_text, policy.columns))})"} if policy.columns else {}),
    }
    named_arguments = ", ".join(f"{name} => {value}" for name, value in arguments.items())
    try:
        with work.session() as spark:
            spark.sql(f"CALL lake.system.{PROCEDURE}({named_arguments})").collect()
    except PySparkException as error:
        raise StatisticsFailed(
            f"{work.base.name}: Spark could not compute statistics ({error.getCondition() or type(error).__name__}).",
            remedy="look at the log of the Spark session; the table is as it was",
        ) from None
    table = work.catalog.load_table(work.base.identifier)
    statistics = next((entry for entry in table.metadata.statistics if entry.snapshot_id == snapshot_id), None)
    if statistics is None:
        message = (
            "the snapshot has expired meanwhile" if head_of(table) != snapshot_id else "there are no columns to count"
        )
        return ActionOutcome(action=action, result="overtaken", before=before, message=message)
    seconds = time.monotonic() - began
    counted = table.metadata.snapshot_by_id(snapshot_id)
    size = int(summary_of(counted).get("total-files-size", 0)) if counted is not None else 0
    return ActionOutcome(
        action=action,
        result="done",
        before=before,
        after=of_files(table, rewritten=size, seconds=seconds),
        snapshot_id=snapshot_id,
        message=f"{len(statistics.blob_metadata)} columns were counted",
        effect=ActionEffect(columns=len(statistics.blob_metadata), bytes=statistics.file_size_in_bytes),
    )
