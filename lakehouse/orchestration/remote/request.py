"""What a driver outside Dagster's process is asked to do, and what it answers; both travel by Dagster Pipes.

Pipes' own materialization has no tags, and a step may report a partition beside its own. So events travel as Dagster
itself stores them, each in a message of its own.
"""

from datetime import UTC, datetime
from typing import Any, Literal

import dagster as dg
import msgspec

from lakehouse.orchestration.resources.run_records import longest_run, under_way
from lakehouse.orchestration.run_context import RUNTIME_DATE_TAG, execution_of, runtime_date

REQUEST = "lakehouse/step"  # the key among Pipes' extras
# Tags by which Dagster's own machinery acts on a run: not for a run that this machinery does not see.
_NOT_PASSED = ("dagster/max_retries", "dagster/retry_", "dagster/run_key", "dagster/sensor_name", "dagster/concurrency")


class StepRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One step of one run.

    Args:
        asset_keys: what it materializes, each as Dagster writes it: `raw/flights`.
        run_id: of the run, which the seals name.
        root_run_id: of the first of its re-executions.
        begun_ms: when that was created, in milliseconds since the epoch.
        tags: of the run, its runtime date among them.
        run_config: of the run's steps and resources.
        longest_run_seconds: as Dagster remembers it.
        under_way: ids of runs that wait or work.
    """

    asset_keys: list[str]
    run_id: str
    root_run_id: str
    begun_ms: int
    tags: dict[str, str]
    run_config: dict[str, Any] = {}
    longest_run_seconds: float = 0.0
    under_way: list[str] = []

    @classmethod
    def of(cls, context: dg.AssetExecutionContext, timezone: str) -> "StepRequest":
        """What a step of Dagster's is for.

        Raises:
            RuntimeDateUnknown: the root run is not recorded.
        """
        run = context.run
        tags = {key: value for key, value in run.tags.items() if not key.startswith(_NOT_PASSED)}
        config: dict[str, Any] = dict(run.run_config)
        return cls(
            asset_keys=sorted(key.to_user_string() for key in context.selected_asset_keys),
            run_id=run.run_id,
            root_run_id=run.root_run_id or run.run_id,
            begun_ms=execution_of(context).begun_ms,
            tags={**tags, RUNTIME_DATE_TAG: runtime_date(context, timezone).isoformat()},
            run_config={key: value for key, value in config.items() if key not in ("execution", "loggers")},
            longest_run_seconds=longest_run(context.instance, datetime.now(UTC)).total_seconds(),
            under_way=sorted(record.dagster_run.run_id for record in under_way(context.instance)),
        )


class StepEvent(msgspec.Struct, frozen=True, tag_field="kind", tag="event"):
    """What a step has reported.

    Args:
        event: a materialization or an observation, as Dagster serializes it; checks are steps of their own.
    """

    event: str


class StepEnd(msgspec.Struct, frozen=True, tag_field="kind", tag="end"):
    """How a step has ended; a driver that ends without it was killed.

    Args:
        outcome: as said.
        error: the kind of the error.
        message: what the error says.
        metadata: of a failure that a step has shown, as Dagster serializes it.
        seconds: that the step took, Spark's start included.
    """

    outcome: Literal["success", "failure"]
    seconds: float
    error: str = ""
    message: str = ""
    metadata: str = ""


Answer = StepEvent | StepEnd
