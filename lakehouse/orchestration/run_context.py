"""What a run fixes once for all its steps: its runtime date, its parameters, and who writes in its name.

The clock is not asked here: a step that runs past midnight, or again tomorrow, computes for the date of its run.
"""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Protocol
from zoneinfo import ZoneInfo

import msgspec
from dagster import DagsterInstance, DagsterRun

from lakehouse.errors import LakehouseError
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.settings import Parameter, Parameters, Settings, digest_of, laid_over

RUNTIME_DATE_TAG = "lakehouse/runtime_date"
PARAMETERS_TAG = "lakehouse/parameters"
BACKFILL_TAG = "lakehouse/backfill"
STREAM_TAG = "lakehouse/stream"
MIRROR_TAG = "lakehouse/mirror"
POSITION_TAG = "lakehouse/position"
REBUILD_TAG = "lakehouse/rebuild"
MAINTENANCE_TAG = "lakehouse/maintenance"  # on runs: the table that is looked after
OPERATIONS_TAG = "lakehouse/operations"
ALLOW_TAG = "lakehouse/allow"
USER_TAG = "user"  # Dagster's own name for it
PROCESS_TAG = "lakehouse/process"  # on runs in the process of a command: the mark by which it is known to live
CREATED_TAG = "lakehouse/created"  # in a driver elsewhere, which has no record of the root run: when it was created
_DAGSTER_BACKFILL_TAG = "dagster/backfill"
# How a run is executed says nothing about what it computes.
_NO_PARAMETERS = {"execution", "loggers"}


class RuntimeDateInvalid(LakehouseError):
    """The tag of a run is no date."""


class ParametersInvalid(LakehouseError):
    """The tag that sets parameters of a run is not understood, or sets one that is not declared."""


class RebuildTagInvalid(LakehouseError):
    """The tag that asks for a rebuild says neither yes nor no."""


class BackfillTagInvalid(LakehouseError):
    """The tag that declares a backfill gives no reason."""


class RuntimeDateUnknown(LakehouseError):
    """Neither the run nor the instance says when the root run was created."""


class StepContext(Protocol):
    """What is needed of the context of an asset, a check or an op."""

    @property
    def run(self) -> DagsterRun:
        """The run."""
        ...

    @property
    def instance(self) -> DagsterInstance:
        """Where the run is recorded."""
        ...


def runtime_date(context: StepContext, timezone: str) -> date:
    """The date for which a run computes, the same in each of its steps, retries and re-executions.

    It is the run tag `lakehouse/runtime_date`; without the tag, the day on which the first run of a chain of
    re-executions was created (for a backfill, the day on which that was), in the zone of the settings.

    Raises:
        RuntimeDateInvalid: the tag is no ISO date.
        RuntimeDateUnknown: the root run is not recorded.
    """
    run = context.run
    if (given := run.tags.get(RUNTIME_DATE_TAG)) is not None:
        return parsed_date(given)
    return _created(run, context.instance, ZoneInfo(timezone)).date()


def parsed_date(text: str) -> date:
    """Read the value of the tag.

    Raises:
        RuntimeDateInvalid: it is no ISO date.
    """
    try:
        day = date.fromisoformat(text)
    except ValueError:
        day = None
    # Python also reads 20130514 and 2013-W20-2, which would compare as other texts in seals and tags.
    if day is None or day.isoformat() != text:
        raise RuntimeDateInvalid(
            f"The run tag {RUNTIME_DATE_TAG} is {text!r}, which is no date.", remedy="write it as 2013-05-14."
        )
    return day


def asks_for_rebuild(run: DagsterRun) -> bool:
    """Whether the run's tag `lakehouse/rebuild` asks its mirrors to fold their whole changelog anew.

    Raises:
        RebuildTagInvalid: it is neither `true` nor `false`; a slip must not cost a rebuild, nor be taken for none.
    """
    given = run.tags.get(REBUILD_TAG, "false")
    if given not in ("true", "false"):
        raise RebuildTagInvalid(f"The run tag {REBUILD_TAG} is {given!r}.", remedy="write it as true, or leave it out.")
    return given == "true"


def _created(run: DagsterRun, instance: DagsterInstance, zone: ZoneInfo) -> datetime:
    if (created_ms := run.tags.get(CREATED_TAG)) is not None:
        return datetime.fromtimestamp(int(created_ms) / 1000, zone)
    if (backfill_id := run.tags.get(_DAGSTER_BACKFILL_TAG)) is not None:
        backfill = instance.get_backfill(backfill_id)
        if backfill is not None:
            return datetime.fromtimestamp(backfill.backfill_timestamp, zone)
    root = run.root_run_id or run.run_id
    record = instance.get_run_record_by_id(root)
    if record is None:
        raise RuntimeDateUnknown(
            f"Run {root} is not recorded, so nobody knows when it was created.",
            remedy=f"give the run the tag {RUNTIME_DATE_TAG}.",
        )
    return record.create_timestamp.astimezone(zone)


@dataclass(frozen=True)
class Execution:
    """What Dagster started, however many runs it takes: a run with all of its re-executions, or one backfill.

    Args:
        id: of the first run, or of the backfill.
        begun_ms: when it was created, in milliseconds since the epoch: the same for each of its steps.
    """

    id: str
    begun_ms: int


def execution_of(context: StepContext) -> Execution:
    """What a step belongs to.

    Raises:
        RuntimeDateUnknown: the root run is not recorded.
    """
    run = context.run
    begun = _created(run, context.instance, ZoneInfo("UTC"))
    return Execution(
        id=run.tags.get(_DAGSTER_BACKFILL_TAG) or run.root_run_id or run.run_id,
        begun_ms=int(begun.timestamp() * 1000),
    )


def attempt_of(context: StepContext, settings: Settings, *, step: str, code_version: str = "") -> Attempt:
    """A fresh attempt at a step, in the name of the context's run.

    Raises:
        RuntimeDateInvalid: the run's tag is no date.
        ParametersInvalid: the run's tag sets what is no parameter.
    """
    run = context.run
    return Attempt(
        run_id=run.run_id,
        root_run_id=run.root_run_id or run.run_id,
        step=step,
        runtime_date=runtime_date(context, settings.timezone).isoformat(),
        code_version=code_version,
        parameters_digest=parameters_digest(run, run_parameters(run, settings)),
    )


def run_parameters(run: DagsterRun, settings: Settings) -> dict[str, Parameter]:
    """The parameters of a run: those of the settings, with the run's tag `lakehouse/parameters` laid over.

    Raises:
        ParametersInvalid: the tag is no JSON object, or sets a parameter that is not declared or of another kind.
    """
    given = run.tags.get(PARAMETERS_TAG, "{}")
    try:
        parameters = laid_over(settings.parameters, msgspec.json.decode(given, type=dict[str, Any]))
    except msgspec.DecodeError:
        parameters = ["it is no JSON object"]
    if isinstance(parameters, list):
        raise ParametersInvalid(
            f"The run tag {PARAMETERS_TAG} cannot be used: {'; '.join(parameters)}.",
            remedy=f"write it as a JSON object of parameters that {settings.conf / 'lakehouse.yaml'} declares.",
        )
    return parameters


def parameters_digest(run: DagsterRun, parameters: Parameters) -> str:
    """A short name for what a run was asked to compute: its parameters, and its configuration where it has one."""
    config = {key: value for key, value in run.run_config.items() if key not in _NO_PARAMETERS and value}
    content = [parameters, config] if config else parameters
    return digest_of(content)


def backfill_reason(run: DagsterRun) -> str:
    """Why a run may read inputs of other dates or parameters, or replace newer rows: its tag `lakehouse/backfill`.

    Empty if it may not.

    Raises:
        BackfillTagInvalid: the tag gives no reason.
    """
    reason = run.tags.get(BACKFILL_TAG)
    if reason is not None and not reason.strip():
        raise BackfillTagInvalid(f"The run tag {BACKFILL_TAG} is empty.", remedy="write why, it is kept in the seal.")
    return (reason or "").strip()
