"""Before a row is read: do the inputs belong together, and to this run?

A run computes for one date with one set of parameters. An input that carries a date must carry this one, in all of its
partitions, and each parameter that it was computed with must have its value in this run. Every path to a common
ancestor must name the same content of it. Anything else is refused with one message that lists all inputs, unless the
run was declared a backfill: then it goes ahead, and its seal says why.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import msgspec

from lakehouse import seal_keys
from lakehouse.iceberg.names import is_elsewhere
from lakehouse.proofs.lineage.computations import Computation
from lakehouse.proofs.lineage.vintage import Vintage
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.settings import Parameter, Parameters, value_digests
from lakehouse.steps.derived.inputs.inputs import Input
from lakehouse.steps.derived.refusals import DeriveRefused, command
from lakehouse.steps.derived.statement import KIND


class InputsDisagree(DeriveRefused):
    """The inputs do not belong together, or not to this run.

    Attributes:
        inputs: all of them, also those that are as they should be.
    """

    def __init__(self, message: str, *, remedy: str, inputs: Sequence[Input]) -> None:
        super().__init__(message, remedy=remedy)
        self.inputs = tuple(inputs)


@dataclass(frozen=True)
class RunRequest:
    """What the run asks for.

    Args:
        table: the derived table.
        attempt: with the run's date and the digest of its parameters.
        parameters: of the run.
        backfill: why its inputs may differ; empty if they may not.
    """

    table: str
    attempt: Attempt
    parameters: Parameters
    backfill: str = ""


def run_computation(attempt: Attempt, parameters: Parameters) -> Computation:
    """What a run computes, as an input would say it that has used every parameter."""
    used = value_digests(parameters)
    return Computation(attempt.runtime_date, attempt.parameters_digest, attempt.run_id, used=used)


def agree(request: RunRequest, inputs: Sequence[Input], vintage: Vintage) -> list[str]:
    """Refuse inputs that do not belong together; returns what differs, which only a declared backfill may.

    Raises:
        InputsDisagree: names every input with its date, parameters, run and snapshot, and the command that repairs it.
    """
    reasons_by_input = {input_.name: _differs(request, input_) for input_ in inputs}
    differing = [f"{name}: {'; '.join(reasons)}" for name, reasons in reasons_by_input.items() if reasons]
    differing += [str(difference) for difference in (*vintage.differences, *vintage.undecided)]
    differing += vintage.broken
    if differing and not request.backfill:
        by_hand = [input_.name for input_ in inputs if input_.external and reasons_by_input[input_.name]]
        remedy = repair(request, by_hand, rebuild=vintage.rebuild, dates=_dates(inputs, vintage))
        raise InputsDisagree(_message(request, inputs, differing), remedy=remedy, inputs=inputs)
    return differing


def repair(
    request: RunRequest, by_hand: Sequence[str] = (), *, rebuild: bool = False, dates: Iterable[str] = ()
) -> str:
    """What makes the inputs agree: all derived tables above, and what is computed from these, in one run.

    Args:
        request: what the run asks for.
        by_hand: inputs that no derivation writes, and that have to be written anew before.
        rebuild: whether incremental tables have to be computed from all rows, as new ones would not mend the old.
        dates: that the tables above are of; the newest counts, as no table is computed for an older date than it has.
    """
    flags = ["--upstream", "--downstream", *(["--rebuild"] if rebuild else [])]
    attempt = replace(request.attempt, runtime_date=max(request.attempt.runtime_date, *dates, ""))
    retry = command(request.table, *flags, attempt=attempt, parameters=request.parameters)
    first = f"materialize {', '.join(by_hand)} for the same date and parameters, and then " if by_hand else ""
    return (
        f"{first}compute it with all derived tables above it and below these, in one run: `{retry}`. "
        "If the inputs are meant to differ, say why with `--backfill <reason>` (run tag lakehouse/backfill)."
    )


def _dates(inputs: Sequence[Input], vintage: Vintage) -> set[str]:
    """Of all derived tables above, and of inputs that carry one."""
    dates = {part.runtime_date for input_ in inputs for part in input_.parts}
    sealed = (reading.seal for reading in vintage.readings)
    return dates | {seal.runtime_date for seal in sealed if seal is not None and seal.kind == KIND}


def _differs(request: RunRequest, input_: Input) -> list[str]:
    if not input_.dated:
        return []
    if input_.seal is None:
        return ["nobody sealed it, so its date is not known"]
    if len(input_.parts) > 1:
        return [
            f"{part}: {computation.whose}"
            for part, computation in _parts(input_)
            if computation.runtime_date != request.attempt.runtime_date or not _agrees(computation, request, input_)
        ]
    reasons: list[str] = []
    if input_.date != request.attempt.runtime_date:
        reasons.append(f"its runtime date is {input_.date or 'not known'}")
    if input_.parts and not _agrees(input_.parts[-1], request, input_):
        reasons.append(f"its parameters are others ({_others(request.parameters, input_)})")
    return reasons


def _agrees(computation: Computation, request: RunRequest, input_: Input) -> bool:
    """Whether the parameters are the run's own; of another catalog's lakehouse, those that both have by name."""
    run = run_computation(request.attempt, request.parameters)
    return computation.agrees_with(run) if is_elsewhere(input_.name) else computation.is_of(run)


def _parts(input_: Input) -> list[tuple[str, Computation]]:
    """Which parts of an input were computed apart, in words; none if all of it is of one date and parameters."""
    return (
        [(computation.among(input_.parts), computation) for computation in input_.parts]
        if len(input_.parts) > 1
        else []
    )


def _others(parameters: Parameters, input_: Input) -> str:
    """Which parameters an input was computed with in place of the run's own, as far as its seal says."""
    text = input_.seal.statement.get(seal_keys.DERIVED_PARAMETERS) if input_.seal is not None else None
    theirs = parameters if text is None else msgspec.json.decode(text, type=dict[str, Parameter])
    used = input_.parts[-1].used if input_.parts else None
    differences = [
        f"{name} is {_json(theirs.get(name))}, here {_json(parameters.get(name))}"
        for name in sorted({*theirs, *parameters} if used is None else used)
        if theirs.get(name) != parameters.get(name)
    ]
    return "; ".join(differences) or input_.parameters_digest or "not known"


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _message(request: RunRequest, inputs: Sequence[Input], differing: Sequence[str]) -> str:
    attempt = request.attempt
    lines = [
        f"{request.table} was not computed: its inputs do not agree with this run, or with each other.",
        *(f"- {text}" for text in differing),
        f"This run: runtime date {attempt.runtime_date}, parameters {attempt.parameters_digest} "
        f"{_json(dict(request.parameters))}, run {attempt.run_id}.",
        "Inputs:",
    ]
    for input_ in inputs:
        date = f"runtime date {input_.date}, parameters {input_.parameters_digest}" if input_.dated else "dateless"
        backfill = f", of a backfill ({input_.backfill})" if input_.backfill else ""
        lines.append(
            f"- {input_.name}: {date}, run {input_.run_id or 'unknown'}, snapshot {input_.snapshot_id}{backfill}"
        )
        lines += [f"  - {part}: {computation.whose}" for part, computation in _parts(input_)]
    return "\n".join(lines)
