"""What a step decides before a row is read: where it begins, what it reads, whether that agrees, and what is new."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

import structlog
from pyspark.sql import SparkSession

from lakehouse.declarations import Declarations, Derived
from lakehouse.iceberg.names import identifier_of
from lakehouse.proofs.lineage.computations import Computation, computations_of
from lakehouse.proofs.lineage.newer import NewerRows, TableRead, newer_dates, newer_inputs
from lakehouse.proofs.lineage.origins import origins_of
from lakehouse.proofs.lineage.sealed import made
from lakehouse.proofs.lineage.vintage import check_vintage
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.leases.lease import lease_tag, leases, take_lease
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base, read_bases
from lakehouse.protocol.seals.covered import unsealed_commits
from lakehouse.settings import Parameter, Parameters
from lakehouse.steps.derived.inputs.agreement import RunRequest, agree, run_computation
from lakehouse.steps.derived.inputs.increment import Increment, next_increment
from lakehouse.steps.derived.inputs.inputs import Input, read_inputs, require_sealed
from lakehouse.steps.derived.inputs.pins import Pin
from lakehouse.steps.derived.partition_provenance import moved_since, put_aside
from lakehouse.steps.derived.parts import DerivedPart
from lakehouse.steps.derived.refusals import RowsOfOthers, command
from lakehouse.steps.derived.statement import KIND

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class DeriveStep:
    """What a step of a derived table needs.

    Args:
        derived: the table, its inputs and how it is computed.
        declarations: all others: which inputs are derived themselves, and which carry a date.
        catalog: where they live.
        session: opens Spark.
        attempt: who writes, for which date.
        parameters: of the run; their digest is the attempt's.
        pin: whose pins hold the inputs.
        part: which partitions are computed; the whole table if None.
        backfill: why inputs may be of another date or other parameters; empty if they may not.
        rebuild: compute an incremental table anew from all rows, in the place of what is there.
        inform: told of progress.
    """

    derived: Derived
    declarations: Declarations
    catalog: LakeCatalog
    session: Callable[[], AbstractContextManager[SparkSession]]
    attempt: Attempt
    pin: Pin
    parameters: Parameters = field(default_factory=dict[str, Parameter])
    part: DerivedPart | None = None
    backfill: str = ""
    rebuild: bool = False
    inform: Callable[[str], None] = field(default=lambda message: log.info("derive", detail=message))

    @property
    def name(self) -> str:
        """The table's name."""
        return self.derived.name

    @property
    def computation(self) -> Computation:
        """What an input has to agree with, whichever parameters the step will use of its run's."""
        return run_computation(self.attempt, self.parameters)

    @property
    def appending(self) -> bool:
        """Whether what is computed is added to what is there."""
        return self.derived.mode == "incremental" and not self.rebuild

    @property
    def whole(self) -> bool:
        """Whether what is computed takes the place of everything that is there."""
        return not self.appending and (self.part is None or not self.part.keys)


@dataclass(frozen=True)
class DerivedPlan:
    """What was found and decided before a row is read.

    Args:
        differing: in what the inputs do not agree, where a backfill allows that.
        replaced: what newer rows the step's own are put in the place of, where a backfill allows that.
    """

    base: Base
    inputs: Mapping[str, Input]
    differing: tuple[str, ...]
    increment: Increment | None
    replaced: tuple[str, ...] = ()


def prepare(step: DeriveStep) -> DerivedPlan:
    """Decide everything that metadata can tell; only pins and the lease may be set by that.

    Raises:
        DeriveRefused: inputs or history are not what they have to be.
        NewerRows: the table holds rows of a later date, or of later snapshots, and this is no declared backfill.
        SealBroken: a seal was changed after it was written.
    """
    base = read_bases(step.catalog, [step.name])[step.name]
    if not step.whole and (foreign := unsealed_commits(base.table, base.snapshot_id)):
        raise RowsOfOthers(
            f"{step.name}: {foreign[0]} was written outside the protocol, and what this run computes would "
            "stand beside its rows.",
            remedy="roll it back, or compute the whole table anew.",
        )
    inputs = read_inputs(step.catalog, step.derived, step.declarations, step.pin)
    require_sealed(step.name, inputs.values(), step.declarations)
    request = RunRequest(step.name, step.attempt, step.parameters, step.backfill)
    snapshot_ids = {input_.name: input_.snapshot_id for input_ in inputs.values()}
    vintage = check_vintage(lambda name: step.catalog.load_table(identifier_of(name)), snapshot_ids)
    differing = agree(request, list(inputs.values()), vintage)
    replaced = _newer_rows(step, base, inputs)
    return DerivedPlan(base, inputs, tuple(differing), _increment(step, base, inputs), tuple(replaced))


def _newer_rows(step: DeriveStep, base: Base, inputs: Mapping[str, Input]) -> list[str]:
    """What the table holds that is newer than what the step would put in its place, or beside it.

    Raises:
        NewerRows: there is such, and this is no declared backfill.
    """
    if (before := made(base.table, base.snapshot_id).sealed) is None:
        return []
    part = step.part or DerivedPart(step.derived)
    computations, origins = computations_of(before.seal), origins_of(before.seal)
    # Where reading stands in what an incremental table follows is told by the increment.
    followed = step.derived.follows if step.appending else None
    reads = [
        TableRead(input_.name, input_.table, input_.snapshot_id) for key, input_ in inputs.items() if key != followed
    ]
    newer = newer_dates(step.attempt.runtime_date, put_aside(before.seal, computations, part), computations)
    newer += newer_inputs(before, reads, put_aside(before.seal, origins, part), origins)
    if newer and not step.backfill:
        raise NewerRows(step.name, newer)
    return newer


def _increment(step: DeriveStep, base: Base, inputs: Mapping[str, Input]) -> Increment | None:
    """What is new of the followed input, held by a lease from here on; None where all rows are computed."""
    if step.derived.follows is None:
        return None
    followed = inputs[step.derived.follows]
    policy = step.declarations.tables[followed.name].maintenance
    increment = next_increment(step.name, base, followed, rebuild=step.rebuild, policy=policy)
    if increment.start is not None:
        _require_parameters(step, base)
        if increment.appends:
            _require_unmoved(step, base, inputs, increment.followed)
    leased_snapshot_id = leases(increment.followed.table).get(lease_tag(step.name))
    # It may be elsewhere, as after a table that was rolled back.
    if leased_snapshot_id is None or increment.start not in (None, leased_snapshot_id):
        take_lease(step.catalog, increment.lease(step.name, at_start=True))
    return increment


def _require_parameters(step: DeriveStep, base: Base) -> None:
    """Refuse to add rows to those that were computed with other parameters: nobody could tell them apart.

    Raises:
        RowsOfOthers: they were, and this is no declared backfill.
    """
    computed = computations_of(made(base.table, base.snapshot_id).seal)
    if not computed or computed[-1].is_of(step.computation) or step.backfill:
        return
    raise RowsOfOthers(
        f"{step.name} holds rows that run {computed[-1].run_id} has computed with other parameters "
        f"({computed[-1].parameters}, this run's are {step.attempt.parameters_digest}).",
        remedy=f"compute all anew, by `{_rebuild(step)}` (run tag lakehouse/rebuild=true).",
    )


def _require_unmoved(step: DeriveStep, base: Base, inputs: Mapping[str, Input], followed: Input) -> None:
    """Refuse to add rows to those that were computed from another content of what is read in full.

    Raises:
        RowsOfOthers: they were, or nobody can tell any more, and this is no declared backfill.
    """
    before = made(base.table, base.snapshot_id).seal
    moved = moved_since(before, inputs.values(), follows=followed.name)
    if moved and not step.backfill:
        raise RowsOfOthers(
            f"{step.name} holds rows that were computed from another version of {', '.join(moved)}, and what is new in "
            f"{followed.name} would be computed from the one of now: two versions in one table.",
            remedy=f"compute all anew, by `{_rebuild(step)}` (run tag lakehouse/rebuild=true). A "
            "table whose other inputs change often is better computed in full. If it is meant, say why with "
            "`--backfill <reason>` (run tag lakehouse/backfill).",
        )


def _rebuild(step: DeriveStep) -> str:
    return command(step.name, "--rebuild", attempt=step.attempt, parameters=step.parameters)


def notes_of(step: DeriveStep, work: DerivedPlan) -> tuple[str, ...]:
    """What a reader should know of the step beyond its result."""
    allowed = (*work.differing, *work.replaced)
    notes = [f"goes ahead as a backfill ({step.backfill}) although {text}" for text in allowed]
    if work.increment is not None and work.increment.start is not None and not work.increment.appends:
        notes.append(f"nothing new in {work.increment.followed.name}")
    before, attempt = made(work.base.table, work.base.snapshot_id).seal, step.attempt
    if before is not None and before.kind == KIND and step.whole:
        requested = (attempt.runtime_date, attempt.parameters_digest, attempt.code_version)
        same = (before.runtime_date, before.parameters_digest, before.code_version) == requested
        if same and before.inputs == {input_.name: input_.snapshot_id for input_ in work.inputs.values()}:
            notes.append(
                f"inputs, date, parameters and code are those of run {before.run_id}: computed again, as asked"
            )
    return tuple(notes)
