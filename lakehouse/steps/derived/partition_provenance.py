"""How each part of a table was computed, and from what: a run of some partitions leaves the others as they were.

Without this, a month that was computed again with other parameters, or from corrected inputs, would be out of sight as
soon as the next month is computed: the newest run says nothing of it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from lakehouse.proofs.lineage.computations import Computation, computations_of
from lakehouse.proofs.lineage.content import ContentChange, compare
from lakehouse.proofs.lineage.origins import REST, Origin, keyed_in, origins_of
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.derived.inputs.inputs import Input
from lakehouse.steps.derived.parts import DerivedPart

Label = TypeVar("Label")
Group = TypeVar("Group")
Member = TypeVar("Member", Computation, Origin)
MOST_GROUPS = 20  # groups in one seal: a table of more of them is surely mixed, and its seal has to stay small


def mixed(
    before: Mapping[Label, tuple[str, ...]], part: DerivedPart, label: Label, *, appending: bool
) -> dict[Label, tuple[str, ...]]:
    """What `before` becomes with a run; its own label comes last.

    Args:
        before: of the table as the run found it.
        part: what the run computes.
        label: of the run: what tells it from others, such as its date and parameters.
        appending: whether rows stay beside those of the run, as in an incremental table.
    """
    if appending:
        return {**{group_label: shown for group_label, shown in before.items() if group_label != label}, label: (REST,)}
    if not part.keys:
        return {label: (REST,)}
    keys = {group_label: part.keys_in(shown) - set(part.keys) for group_label, shown in before.items()}
    keys[label] = keys.pop(label, set()) | set(part.keys)
    every = part.every
    named = every is not None and every <= set[str]().union(*keys.values())
    rest = set[Label]() if named else {group_label for group_label, shown in before.items() if REST in shown}
    groups = {
        group_label: (REST,) if group_label in rest else DerivedPart(part.derived, tuple(sorted(group_keys))).shown
        for group_label, group_keys in keys.items()
    }
    return {group_label: shown for group_label, shown in groups.items() if shown}


def computations_after(
    before: Seal | None,
    part: DerivedPart,
    attempt: Attempt,
    *,
    appending: bool,
    added: int,
    used: Mapping[str, str] | None = None,
) -> tuple[Computation, ...]:
    """For which dates and with which parameters each part of a table was computed, once a run has published.

    All of an incremental table is of the date of its newest run, which has added what was missing by then.

    Args:
        before: what the table's seal says as the run found it.
        part: what the run computes.
        attempt: of the run.
        appending: whether rows stay beside those of the run.
        added: how many rows it has added; none are of no parameters.
        used: parameter → digest, of those that the run has computed with; None where nobody noted which.
    """
    ours = Computation(attempt.runtime_date, attempt.parameters_digest, attempt.run_id, used=used)
    current = _label(ours)
    partitions: dict[tuple[str, str], tuple[str, ...]] = {}
    labelled: dict[tuple[str, str], Computation] = {}
    groups = computations_of(before)
    if not appending and _keyed_otherwise(before, part, groups):
        groups = (Computation(),)
    for computation in groups:
        day = attempt.runtime_date if appending and computation.known else computation.runtime_date
        dated = replace(computation, runtime_date=day)
        same = day == attempt.runtime_date and dated.agrees_with(ours)
        label = current if same else _label(dated)
        partitions[label] = tuple(dict.fromkeys((*partitions.get(label, ()), *computation.partitions)))
        labelled[label] = dated
        if same and (appending or part.keys) and ours.used is not None:
            ours = replace(ours, used={**(computation.used or {}), **ours.used})
    if added or not appending or not partitions or current in partitions:
        partitions, labelled[current] = mixed(partitions, part, current, appending=appending), ours
    computations = [replace(labelled[label], partitions=shown) for label, shown in partitions.items()]
    older, newer = _bounded(computations)
    return (Computation(partitions=_together(older, part)), *newer) if older else tuple(newer)


def _label(computation: Computation) -> tuple[str, str]:
    """What tells a computation from others."""
    used = computation.used
    return computation.runtime_date, computation.parameters if used is None else repr(sorted(used.items()))


def origins_after(
    before: Seal | None, part: DerivedPart, inputs: Sequence[Input], *, appending: bool, added: int
) -> tuple[Origin, ...]:
    """From what each part of a table was computed once a run has published.

    Inputs that have the same content are told by the newest snapshot: whoever asks later may not find what tells that
    they are the same. What an incremental table follows is told by the end of what it has read.

    Args:
        before: what the table's seal says as the run found it.
        part: what the run computes.
        inputs: of the run.
        appending: whether rows stay beside those of the run.
        added: how many rows it has added; none are of no origin.
    """
    current = {input_.name: input_.snapshot_id for input_ in inputs}
    if not appending and not part.keys:
        return (Origin(current),)
    partitions: dict[tuple[tuple[str, int], ...], tuple[str, ...]] = {}
    groups = origins_of(before)
    if not appending and _keyed_otherwise(before, part, groups):
        groups = (Origin({}),)
    for origin in groups:
        label = tuple(sorted(_as_now(origin, inputs, _followed(part)).items()))
        partitions[label] = tuple(dict.fromkeys((*partitions.get(label, ()), *origin.partitions)))
    if added or not appending or not partitions:
        partitions = mixed(partitions, part, tuple(sorted(current.items())), appending=appending)
    older, newer = _bounded([Origin(dict(label), shown) for label, shown in partitions.items()])
    return (Origin({}, _together(older, part)), *newer) if older else tuple(newer)


def put_aside(before: Seal | None, groups: Sequence[Member], part: DerivedPart) -> list[Member]:
    """Those groups of a table, some of whose rows a run of a part puts its own in the place of.

    Args:
        before: what the table's seal says.
        groups: the computations or origins that it lists.
        part: what the run computes.
    """
    if not part.keys or _keyed_otherwise(before, part, groups):
        return list(groups)
    keys = set(part.keys)
    named = {key for member in groups for key in part.keys_in(member.partitions)}
    return [
        member
        for member in groups
        if keys & part.keys_in(member.partitions) or (REST in member.partitions and not keys <= named)
    ]


def moved_since(before: Seal | None, inputs: Iterable[Input], *, follows: str) -> list[str]:
    """Inputs that rows of a table were computed from, and whose content is, or may be, another one by now.

    Args:
        before: what the table's seal says.
        inputs: of the run.
        follows: the input of which other rows are expected.
    """
    read = [(input_, origin.inputs.get(input_.name)) for origin in origins_of(before) for input_ in inputs]
    return sorted(
        {
            input_.name
            for input_, snapshot_id in read
            if snapshot_id is not None and input_.name != follows and not _same(input_, snapshot_id)
        }
    )


def _keyed_otherwise(before: Seal | None, part: DerivedPart, groups: Sequence[Origin | Computation]) -> bool:
    """Whether a seal names partitions by keys that mean other rows by now, or may: `2013-05-01` was a month."""
    named = any(text != REST for group in groups for text in group.partitions)
    return named and before is not None and keyed_in(before.statement) != part.keyed_by


def _followed(part: DerivedPart) -> str:
    return part.derived.inputs[part.derived.follows] if part.derived.follows is not None else ""


def _as_now(origin: Origin, inputs: Iterable[Input], follows: str) -> dict[str, int]:
    now = {input_.name: input_ for input_ in inputs}
    return {
        name: now[name].snapshot_id
        if name in now and (name == follows or _same(now[name], snapshot_id))
        else snapshot_id
        for name, snapshot_id in origin.inputs.items()
    }


def _same(input_: Input, snapshot_id: int) -> bool:
    return compare(input_.table, snapshot_id, input_.snapshot_id) is ContentChange.SAME


def _bounded(groups: list[Group]) -> tuple[list[Group], list[Group]]:
    """Those that become one, of which nothing can be told; and the newest."""
    return ([], groups) if len(groups) <= MOST_GROUPS else (groups[: 1 - MOST_GROUPS], groups[1 - MOST_GROUPS :])


def _together(groups: Sequence[Origin | Computation], part: DerivedPart) -> tuple[str, ...]:
    shown = [text for group in groups for text in group.partitions]
    return (REST,) if REST in shown else DerivedPart(part.derived, tuple(sorted(part.keys_in(shown)))).shown
