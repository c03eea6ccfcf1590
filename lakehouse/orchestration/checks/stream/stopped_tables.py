"""Tables of a stream that take no records: by the quarantine's newest seal, where their records wait."""

import dagster as dg
import msgspec

from lakehouse import seal_keys
from lakehouse.orchestration.resources.materialization import rows_shown
from lakehouse.protocol.seals.history import seals
from lakehouse.protocol.seals.read_group import Pinned
from lakehouse.quantities import quantity
from lakehouse.steps.ingest.routes.stopping import StoppedBy

NAME = "every_table_takes_records"
DESCRIPTION = (
    "Whether all tables of the stream take their records. One that cannot be written to, or whose records are not "
    "acceptable, stops alone: the other tables go on, and its records wait in this quarantine. Here is which table, "
    "why, and what to do."
)


def stopped_tables_result(quarantine: Pinned, stream: str, key: dg.AssetKey) -> dg.AssetCheckResult:
    """Name each stopped table with its reason and remedy.

    Args:
        quarantine: the stream's, whose newest seal of an ingest says it.
        stream: its name.
        key: the quarantine's asset.
    """
    sealed = next(
        (s for s in seals(quarantine.table, quarantine.snapshot_id) if seal_keys.QUALITY_RULES in s.seal.statement),
        None,
    )
    keys = sealed.seal.statement if sealed else {}
    stopped = msgspec.json.decode(keys.get(seal_keys.EVOLUTION_STOPPED, "{}"), type=dict[str, StoppedBy])
    lines = [f"{name} takes no records: {by.reason}" for name, by in sorted(stopped.items())]
    return dg.AssetCheckResult(
        asset_key=key,
        check_name=NAME,
        passed=not stopped,
        severity=dg.AssetCheckSeverity.ERROR,
        description=f"{quantity(len(stopped), 'table')} of stream {stream} stopped. {' '.join(lines)}"
        if stopped
        else f"All tables of stream {stream} take records.",
        metadata={
            "stopped tables": rows_shown(
                {"table": "string", "reason": "string"}, [(name, by.reason) for name, by in sorted(stopped.items())]
            )
        }
        if stopped
        else {},
    )
