"""What the verbs about one stream share: the stream by name, and a step on it that a person carries out."""

import uuid
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from pyspark.sql import SparkSession

from lakehouse.cli.context import Context, catalog_of, print_json
from lakehouse.cli.declared import declarations_of, require_declared
from lakehouse.protocol.commit import Published
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.quantities import quantity
from lakehouse.steps.ingest.ingest_step import IngestStep
from lakehouse.steps.ingest.record_limit import limits_of


def step_of(
    context: Context, name: str, verb: str, session: Callable[[], AbstractContextManager[SparkSession]] | None = None
) -> IngestStep:
    """A step on a stream, in the name of a run of its own.

    Raises:
        UnknownName: nobody declared it.
    """
    declarations = declarations_of(context)
    require_declared(declarations, "stream", [name], declarations.streams)
    settings = context.settings
    today = datetime.now(ZoneInfo(settings.timezone)).date().isoformat()
    return IngestStep(
        stream=declarations.streams[name],
        declarations=declarations,
        catalog=catalog_of(context),
        kafka=settings.kafka,
        limits=limits_of(settings.ingest, declarations.streams[name]),
        session=session or _no_session,
        attempt=Attempt(run_id=f"cli-{uuid.uuid4()}", step=f"{verb}:{name}", runtime_date=today),
        inform=lambda message: context.err.print(message, style="dim", highlight=False),
    )


def print_sealed(
    context: Context,
    step: IngestStep,
    published: Published | None,
    *,
    as_json: Mapping[str, Any] | None,
    to_do: bool = True,
) -> None:
    """Say in how many tables what a step did was sealed, and by which run; or that nothing was changed.

    Args:
        context: where to print.
        step: that a person carries out.
        published: what was sealed; None where nothing was.
        as_json: what `--json` shows before that; None where a person reads.
        to_do: whether `--yes` would do something.
    """
    if as_json is not None:
        print_json({**as_json, **_sealed_by(step, published)})
    elif published is None:
        context.out.print("Nothing was changed." + (" To do this, say the same with --yes." if to_do else ""))
    else:
        context.out.print(
            f"Sealed in {quantity(len(published.snapshots), 'table')} by run {step.attempt.run_id}.", highlight=False
        )


def _sealed_by(step: IngestStep, published: Published | None) -> dict[str, Any]:
    """What `--json` says of what was done: nothing, or by which run, in which snapshots."""
    if published is None:
        return {"done": False, "run_id": None, "snapshots": {}}
    return {"done": True, "run_id": step.attempt.run_id, "snapshots": dict(published.snapshots)}


def _no_session() -> AbstractContextManager[SparkSession]:
    raise AssertionError("this verb reads no records")
