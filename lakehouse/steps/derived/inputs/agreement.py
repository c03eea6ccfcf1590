"""Before a row is read: do the inputs belong together, and to this run?

A run computes for one date with one set of parameters. An input that carries a date must carry this one, with these
parameters, in all of its partitions; and every path to a common ancestor must name the same content of it. Anything
else is refused with one message that lists all inputs, unless the run was declared a backfill: then it goes ahead, and
its seal says why.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import msgspec

from lakehouse.proofs.lineage.computations import Computation
from lakehouse.proofs.lineage.vintage import Vintage
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.settings import Parameters
from lakehouse.steps.derived.inputs.inputs import Input
from lakehouse.steps.derived.refusals import DeriveRefused, command
from lakehouse.steps.derived.statement import KIND, DeriveStatement


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


def agree(asked: RunRequest, inputs: Sequence[Input], vintage: Vintage) -> list[str]:
    """Refuse inputs that do not belong together; returns what differs, which only a declared backfill may.

    Raises:
        InputsDisagree: names every input with its date, parameters, run and snapshot, and the command that repairs it.
    """
    wrong = {one.name: _differs(asked, one) for one in inputs}
    differing = [f"{name}: {'; '.join(what)}" for name, what in wrong.items() if what]
    differing += [str(found) for found in (*vintage.differences, *vintage.undecided)]
    differing += vintage.broken
    if differing and not asked.backfill:
        by_hand = [one.name for one in inputs if one.external and wrong[one.name]]
        remedy = repair(asked, by_hand, rebuild=vintage.rebuild, dates=_dates(inputs, vintage))
        raise InputsDisagree(_message(asked, inputs, differing), remedy=remedy, inputs=inputs)
    return differing


def repair(asked: RunRequest, by_hand: Sequence[str] = (), *, rebuild: bool = False, dates: Iterable[str] = ()) -> str:
    """What makes the inputs agree: all derived tables above, and what is computed from these, in one run.

    Args:
        asked: what the run asks for.
        by_hand: inputs that no derivation writes, and that have to be written anew before.
        rebuild: whether incremental tables have to be computed from all rows, as new ones would not mend the old.
        dates: that the tables above are of; the newest counts, as no table is computed for an older date than it has.
    """
    flags = ["--upstream", "--downstream", *(["--rebuild"] if rebuild else [])]
    attempt = replace(asked.attempt, runtime_date=max(asked.attempt.runtime_date, *dates, ""))
    again = command(asked.table, *flags, attempt=attempt, parameters=asked.parameters)
    first = f"materialize {', '.join(by_hand)} for the same date and parameters, and then " if by_hand else ""
    return (
        f"{first}compute it with all derived tables above it and below these, in one run: `{again}`. "
        "If the inputs are meant to differ, say why with `--backfill <reason>` (run tag lakehouse/backfill)."
    )


def _dates(inputs: Sequence[Input], vintage: Vintage) -> set[str]:
    """Of all derived tables above, and of inputs that carry one."""
    found = {part.runtime_date for one in inputs for part in one.parts}
    sealed = (reading.seal for reading in vintage.readings)
    return found | {seal.runtime_date for seal in sealed if seal is not None and seal.kind == KIND}


def _differs(asked: RunRequest, one: Input) -> list[str]:
    if not one.dated:
        return []
    if one.seal is None:
        return ["nobody sealed it, so its date is not known"]
    if len(one.parts) > 1:
        return [f"{part}: {each.whose}" for part, each in _parts(one) if not _is_of(asked.attempt, each)]
    found: list[str] = []
    if one.date != asked.attempt.runtime_date:
        found.append(f"its runtime date is {one.date or 'not known'}")
    if one.parameters_digest != asked.attempt.parameters_digest:
        found.append(f"its parameters are others ({_others(asked.parameters, one)})")
    return found


def _is_of(attempt: Attempt, one: Computation) -> bool:
    return (one.runtime_date, one.parameters) == (attempt.runtime_date, attempt.parameters_digest)


def _parts(one: Input) -> list[tuple[str, Computation]]:
    """Which parts of an input were computed apart, in words; none if all of it is of one date and parameters."""
    return [(each.among(one.parts), each) for each in one.parts] if len(one.parts) > 1 else []


def _others(mine: Parameters, one: Input) -> str:
    """Which parameters an input was computed with in place of the run's own, as far as its seal says."""
    said = DeriveStatement.from_keys(one.seal.statement) if one.seal is not None else None
    theirs = said.parameters if said is not None else mine
    told = [
        f"{name} is {_json(theirs.get(name))}, here {_json(mine.get(name))}"
        for name in sorted({*theirs, *mine})
        if theirs.get(name) != mine.get(name)
    ]
    return "; ".join(told) or one.parameters_digest or "not known"


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _message(asked: RunRequest, inputs: Sequence[Input], differing: Sequence[str]) -> str:
    attempt = asked.attempt
    lines = [
        f"{asked.table} was not computed: its inputs do not agree with this run, or with each other.",
        *(f"- {text}" for text in differing),
        f"This run: runtime date {attempt.runtime_date}, parameters {attempt.parameters_digest} "
        f"{_json(dict(asked.parameters))}, run {attempt.run_id}.",
        "Inputs:",
    ]
    for one in inputs:
        date = f"runtime date {one.date}, parameters {one.parameters_digest}" if one.dated else "dateless"
        backfill = f", of a backfill ({one.backfill})" if one.backfill else ""
        lines.append(f"- {one.name}: {date}, run {one.run_id or 'unknown'}, snapshot {one.snapshot_id}{backfill}")
        lines += [f"  - {part}: {each.whose}" for part, each in _parts(one)]
    return "\n".join(lines)
