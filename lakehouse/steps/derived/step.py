"""The story of one step of a derived table: pin, agree, compute, trace, stage, judge, seal, publish.

Nothing of it is visible before the publish, and there is no other state: if this process dies anywhere before, the next
try finds the same pins and the old seal, and does the same again.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from lakehouse.proofs.lineage.computations import computations_of
from lakehouse.proofs.lineage.sealed import made
from lakehouse.protocol.commit import publish, seal_branch
from lakehouse.protocol.errors import MainMoved, Superseded
from lakehouse.protocol.failpoints import failpoint
from lakehouse.protocol.leases.source import SourceSetBack, still_in_main
from lakehouse.protocol.seals.history import head_of
from lakehouse.protocol.seals.seal import Seal
from lakehouse.quantities import quantity
from lakehouse.settings import value_digests
from lakehouse.steps.derived.branch import OnBranch, compute_on_branch
from lakehouse.steps.derived.error_masking import spark_errors_masked
from lakehouse.steps.derived.inputs.inputs import Input
from lakehouse.steps.derived.partition_provenance import computations_after, origins_after
from lakehouse.steps.derived.parts import DerivedPart
from lakehouse.steps.derived.plan import DerivedPlan, DeriveStep, notes_of, prepare
from lakehouse.steps.derived.refusals import ComputedOtherwise, HistoryLost
from lakehouse.steps.derived.report import DeriveReport
from lakehouse.steps.derived.statement import KIND, DeriveStatement

_TRIES = 5


def derive(step: DeriveStep) -> DeriveReport:
    """Compute a derived table, or some of its partitions, and publish it.

    Of two runs that compute the same at once, one publishes; of two that compute it for different dates, or with
    different parameters, the other one is refused. A run that computes partitions which the winner has not,
    or that maintenance was quicker than, has lost nothing but time: it begins again on what is there now.

    Raises:
        DeriveRefused: inputs, history or rows are not what they have to be; nothing was published.
        NewerRows: the table holds newer rows than the step would put in their place; nothing was published.
        DoesNotFit: what was computed is not what is declared; nothing was published.
        ComputationFailed: the function or Spark failed, with a message that may show a sensitive value.
        Superseded: another run has computed the same meanwhile.
        CommitError: the publish did not go through.
    """
    for tries_left in reversed(range(_TRIES)):
        try:
            return _derive(step)
        except SourceSetBack as lost:  # what this run reads is pinned, so that it would read the same again
            raise HistoryLost(f"{step.name}: {lost.message}", remedy="a new run reads what is there now") from lost
        except (MainMoved, Superseded) as overtaken:
            if (isinstance(overtaken, Superseded) and _outdone(step)) or tries_left == 0:
                raise
            step.inform(f"once more, on what is there now: {overtaken.message}")
            step = replace(step, attempt=step.attempt.again())
    raise AssertionError("unreachable")


def _derive(step: DeriveStep) -> DeriveReport:
    began = time.monotonic()
    work = prepare(step)
    notes = notes_of(step, work)
    for note in notes:
        step.inform(f"{step.name}: {note}")
    failpoint("derive.agreed")
    with spark_errors_masked(step), step.session() as spark:
        result = compute_on_branch(step, work, spark)
    failpoint("derive.staged")
    statement = _statement(step, work, result)
    seal = Seal.of(
        step.attempt,
        KIND,
        statement=statement.to_keys(),
        previous=work.base.sealed.seal if work.base.sealed else None,
        inputs={input_.name: input_.snapshot_id for input_ in work.inputs.values()},
    )
    staged = seal_branch(step.catalog, work.base, step.attempt, seal)
    leases = [work.increment.lease(step.name)] if work.increment else []
    conditions = [
        partial(still_in_main, step.catalog, lease.identifier, lease.uuid, lease.snapshot_id) for lease in leases
    ]
    published = publish(step.catalog, [staged], leases=leases, conditions=conditions)
    step.inform(f"{step.name}: {quantity(result.added, 'row')} published, {time.monotonic() - began:.1f} s in all")
    return DeriveReport(
        table=step.name,
        statement=statement,
        inputs=work.inputs,
        published=published,
        branch=step.attempt.branch,
        notes=notes,
        seconds=time.monotonic() - began,
    )


def _statement(step: DeriveStep, work: DerivedPlan, result: OnBranch) -> DeriveStatement:
    part, before = step.part or DerivedPart(step.derived), made(work.base.table, work.base.snapshot_id).seal
    inputs = list(work.inputs.values())
    origins = origins_after(before, part, inputs, appending=step.appending, added=result.added)
    computations = computations_after(
        before, part, step.attempt, appending=step.appending, added=result.added, used=_used(step, inputs, result)
    )
    # Rows of a growing table, where the run has added none, are of the parameters of before.
    ours = computations[-1].parameters == step.attempt.parameters_digest
    earlier = None if ours or before is None else DeriveStatement.from_keys(before.statement)
    return DeriveStatement(
        mode="full" if step.rebuild else step.derived.mode,
        added=result.added,
        total=result.total,
        parameters=step.parameters if earlier is None else earlier.parameters,
        declared=step.derived.inputs,
        scanned={name: snapshot_id or 0 for name, snapshot_id in result.trace.scanned.items()},
        dates={input_.name: input_.date for input_ in work.inputs.values()},
        partition=step.part.shown if step.part else (),
        partitioned_by=part.keyed_by,
        computed_by=computations,
        computed_from=origins,
        follows=work.increment.followed.name if work.increment else "",
        # Also what the run has left as it was may differ from what it has computed.
        differs=step.backfill if work.differing or len(origins) > 1 or len(computations) > 1 else "",
        replaces_newer=step.backfill if work.replaced else "",
        column_lineage=result.trace.columns,
        rules=result.rules.to_seal(),
    )


def _used(step: DeriveStep, inputs: Sequence[Input], result: OnBranch) -> dict[str, str]:
    """Parameter → digest of its value in this run, of those that the table was computed with, or an input was.

    Of an input that does not say which, it may have been any.
    """
    names = set(result.used)
    for part in (part for input_ in inputs for part in input_.parts):
        names |= step.parameters.keys() if part.used is None else part.used.keys()
    return {name: digest for name, digest in value_digests(step.parameters).items() if name in names}


def _outdone(step: DeriveStep) -> bool:
    """Whether the winner of the race has computed all that this step is for, and not just some of its partitions.

    Raises:
        ComputedOtherwise: it has, but for another date or with other parameters.
    """
    table = step.catalog.load_table(step.derived.table.identifier)
    winner = made(table, head_of(table)).seal
    statement = DeriveStatement.from_keys(winner.statement) if winner is not None else None
    if winner is None or statement is None:
        return True
    part = step.part or DerivedPart(step.derived)
    if statement.partition and not (part.keys and set(part.keys) <= part.keys_in(statement.partition)):
        return False
    attempt = step.attempt
    same = computations_of(winner)[-1].is_of(step.computation)
    if winner.runtime_date != attempt.runtime_date or not same:
        raise ComputedOtherwise(step.name, winner, attempt, step.parameters)
    return True


__all__ = ["DeriveReport", "DeriveStep", "derive"]
