"""The asset of a release: goes ahead when every member is judged, and is a failed step with its reasons when not."""

import hashlib
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import dagster as dg
import msgspec

from lakehouse.declarations import Declarations, Derived, Mirror, Release, Stream
from lakehouse.orchestration.assets.check_history import check_history
from lakehouse.orchestration.assets.specs import table_spec
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES, DagsterNames
from lakehouse.orchestration.resources import Lake
from lakehouse.orchestration.resources.materialization import rows_shown, write_tags
from lakehouse.orchestration.run_context import RUNTIME_DATE_TAG, attempt_of
from lakehouse.protocol.errors import Superseded
from lakehouse.protocol.failpoints import failpoint
from lakehouse.steps.maintenance.verify.foreign_rewrites import find_changed_rows
from lakehouse.steps.release.gate.results import ReleaseHeld
from lakehouse.steps.release.release_step import Released, ReleaseStep
from lakehouse.steps.release.remedies import Remedies, Writer
from lakehouse.steps.release.step import release

GROUP = "releases"


def release_step(declared: Release) -> str:
    """Name of the step and of its pool: `release_analytics`."""
    return f"release_{declared.name}"


def release_version(declared: Release) -> str:
    """A version of what is declared of a release."""
    content = (declared.name, declared.members)
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:16]


def release_asset(
    declared: Release,
    declarations: Declarations,
    waits_for: Sequence[dg.AssetCheckKey] = (),
    names: DagsterNames = DEFAULT_NAMES,
    *,
    automation_condition: dg.AutomationCondition[Any] | None = None,
) -> dg.AssetsDefinition:
    """Make the asset of one release.

    Args:
        declared: the release.
        declarations: of its members.
        waits_for: the checks that must have passed on what is released.
        names: how Dagster knows its members.
        automation_condition: when Dagster asks for it by itself.
    """
    step_name = release_step(declared)
    writers = {table: _written_by(table, declarations) for table in declarations.tables}
    dated = frozenset(m for m in declared.members if declarations.tables[m].runtime_date_column is not None)

    @dg.multi_asset(
        name=step_name,
        specs=[
            table_spec(declared.table, group=GROUP, skippable=True, names=names).replace_attributes(
                deps=[_dep(member, declarations, names) for member in declared.members],
                code_version=release_version(declared),
                automation_condition=automation_condition,
            )
        ],
        pool=step_name,
        description=f"Releases {len(declared.members)} tables as {declared.name}: {declared.description}",
    )
    @names.resources
    def release_group(
        context: dg.AssetExecutionContext, lake: dg.ResourceParam[Lake]
    ) -> Iterator[dg.MaterializeResult[Any]]:
        failpoint("dagster.release.begin")
        lake.ensure([declared.pointer])
        step = ReleaseStep(
            release=declared,
            catalog=lake.catalog,
            attempt=attempt_of(
                context, lake.settings, step=f"release:{declared.name}", code_version=release_version(declared)
            ),
            find_changed_rows=partial(find_changed_rows, int(lake.settings.maintenance.in_process_proof)),
            checks=[check_history(context.instance, key, names) for key in waits_for],
            dated=dated,
            inform=context.log.info,
            remedies=Remedies(writers, declared.members),
        )
        done = _release(context, step)
        if done is not None:
            failpoint("dagster.release.before")
            yield _result(done, step)

    return release_group


def _written_by(name: str, declarations: Declarations) -> tuple[Writer, str]:
    """Who writes a table, and under which name a command that repairs it knows the writer."""
    match declarations.writer(name):
        case Derived() as derived:
            return ("incremental" if derived.mode == "incremental" else "derived"), name
        case Stream() as stream:
            return "stream", stream.name
        case Mirror() as mirror:
            return "mirror", mirror.name
        case _:
            return "asset", name


def _dep(member: str, declarations: Declarations, names: DagsterNames) -> dg.AssetDep:
    derived = declarations.derived.get(member)
    # A release is of all of a table, whatever part of it was computed last.
    whole = dg.AllPartitionMapping() if derived and derived.partitions else None
    return dg.AssetDep(names.key(member), partition_mapping=whole)


def _release(context: dg.AssetExecutionContext, step: ReleaseStep) -> Released | None:
    """Run the step; None if there was nothing to release, or another run was quicker: both are good ends."""
    try:
        done = release(step)
    except Superseded as superseded:
        context.log.info(f"superseded, nothing to materialize: {superseded.message}")
        return None
    except ReleaseHeld as refusal:
        raise _failure(refusal) from None
    if done.outcome == "unchanged":
        context.log.info(f"nothing to release: {done.note}")
        return None
    return done


def _failure(refusal: ReleaseHeld) -> dg.Failure:
    """A held release as Dagster shows it. To try the same again would end the same way."""
    columns = {"table": "string", "what is wrong": "string", "to repair": "string"}
    reasons = [(reason.table, reason.problem, reason.remedy) for reason in refusal.reasons]
    return dg.Failure(
        description=refusal.message,
        metadata={"refused": type(refusal).__name__, "reasons": rows_shown(columns, reasons)},
        allow_retries=False,
    )


def _result(done: Released, step: ReleaseStep) -> dg.MaterializeResult[Any]:
    members = {"table": "string", "snapshot": "string", "runtime date": "string", "rows": "string"}
    shown = [
        (m.table, str(m.snapshot_id), m.runtime_date or "dateless", "" if m.rows is None else f"{m.rows:,}")
        for m in done.members
    ]
    dates = {member.runtime_date for member in done.members if member.runtime_date}
    metadata: dict[str, Any] = {
        "release": done.id,
        "outcome": done.outcome,
        "members": rows_shown(members, shown),
        "changed": rows_shown({"table": "string", "change": "string"}, sorted(done.changed.items())),
        "previous release": done.previous or "none",
        "parameters": dg.MetadataValue.json(msgspec.json.decode(done.parameters)),
        "no longer readable": ", ".join(done.dropped) or "none",
        "read it": dg.MetadataValue.md(f"`lakehouse release show {step.release.name}`"),
        "snapshot id": str(done.pointer),
        "seconds": done.seconds,
    }
    return dg.MaterializeResult(
        metadata=metadata,
        data_version=dg.DataVersion(done.id),
        # Of what is released: the run that releases may be of another day.
        tags={**write_tags(step.attempt), **({RUNTIME_DATE_TAG: dates.pop()} if dates else {})},
    )
