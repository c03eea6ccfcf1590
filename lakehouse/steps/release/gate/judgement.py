"""The gate: a release goes ahead only on results that name the very snapshots it releases, and on one vintage.

A plain function of what is given: which results there are is for the caller to find out.
"""

from collections.abc import Collection, Iterable, Mapping

from lakehouse.proofs.lineage.computations import computations_of
from lakehouse.proofs.lineage.vintage import Vintage
from lakehouse.steps.release.candidates import Candidate
from lakehouse.steps.release.gate.agreement import disagreement, odd_within, parameters_differ
from lakehouse.steps.release.gate.results import Check, Reason, Result
from lakehouse.steps.release.remedies import Remedies

_UNNAMED = Remedies()
_PROVE = "judge it: `lakehouse run` asks every check"


def held_by(
    candidates: Mapping[str, Candidate],
    checks: Iterable[Check],
    accepted: Mapping[str, Collection[int]],
    remedies: Remedies = _UNNAMED,
) -> list[Reason]:
    """Every reason not to release: what is not there, what was not judged or judged wrong, and what does not agree.

    Args:
        candidates: what is up for release.
        checks: with their results.
        accepted: other table → at which snapshots of it a result counts that has judged it as well.
        remedies: what to do about each table.
    """
    reasons = [reason for candidate in candidates.values() if (reason := _unknown(candidate, remedies)) is not None]
    existing = {name: candidate for name, candidate in candidates.items() if candidate.same}
    judgements = [
        _judged(existing[check.table], check, accepted, remedies) for check in checks if check.table in existing
    ]
    reasons += [reason for reason in judgements if reason is not None]
    seals = {
        name: candidate.sealed.seal for name, candidate in existing.items() if candidate.dated and candidate.sealed
    }
    # A run that adds nothing to a growing table leaves its rows of the parameters that they were computed with.
    newest = {name: computations_of(seal)[-1] for name, seal in seals.items()}
    reasons += disagreement(
        "runtime dates", {name: computation.runtime_date for name, computation in newest.items()}, remedies
    )
    reasons += parameters_differ(newest, remedies)
    return [
        *reasons,
        *(reason for name, seal in seals.items() if (reason := odd_within(name, seal, remedies)) is not None),
    ]


def mixed(vintage: Vintage, remedies: Remedies = _UNNAMED) -> list[Reason]:
    """What keeps the members, and all that they were computed from, from being of one vintage."""
    reasons: list[Reason] = []
    for difference in vintage.differences:
        # Where it is the older content itself that is a member, whoever read the newer one has to look again.
        newest = difference.contents[-1]
        anew = difference.outdated or tuple(name for reading in newest for name in reversed(reading.path[:-1]))
        rebuild = difference.rebuild if difference.outdated else any(reading.rebuild for reading in newest)
        command = remedies.anew(*anew, rebuild=rebuild)
        reasons.append(Reason(difference.ancestor, _line(str(difference)), f"make anew what reads it: {command}"))
    for unknown in vintage.undecided:
        command = remedies.anew(unknown.path[0])
        reasons.append(Reason(unknown.path[0], _line(str(unknown)), f"make it anew: {command}"))
    mend = "restore the table's metadata, or make the table anew"
    return [*reasons, *(Reason("seals", _line(broken), mend) for broken in vintage.broken)]


def _line(sentence: str) -> str:
    return sentence.rstrip(".")


def _unknown(candidate: Candidate, remedies: Remedies) -> Reason | None:
    """Why nobody can say what a member is."""
    if not candidate.same:
        return Reason(candidate.name, "it holds nothing yet", f"materialize it: {remedies.first(candidate.name)}")
    if candidate.sealed is None or candidate.sealed.snapshot_id not in candidate.same:
        problem = (
            f"nobody sealed snapshot {candidate.same[-1]}: it was written outside the protocol, or its seal has expired"
        )
        return Reason(candidate.name, problem, remedies.without(candidate.name))
    if candidate.dated and not candidate.sealed.seal.runtime_date:
        return Reason(
            candidate.name, "its seal carries no runtime date", f"make it anew: {remedies.anew(candidate.name)}"
        )
    return None


def _judged(
    candidate: Candidate, check: Check, accepted: Mapping[str, Collection[int]], remedies: Remedies
) -> Reason | None:
    """Why the results of a check do not let a member pass; the newest that names this very content decides."""
    label = f"check {check.name}"
    past: list[str] = []
    for result in check.results:
        if result.snapshot_id not in candidate.same or result.outcome in ("errored", "running"):
            continue
        if elsewhere := _judged_elsewhere(result, accepted):
            past.append(elsewhere)
            continue
        if result.outcome == "passed":
            return None
        report = result.description.rstrip(".") or "see its report"
        problem = f"{label} failed on snapshot {result.snapshot_id}: {report}"
        return Reason(candidate.name, problem, f"correct it and make it anew: {remedies.anew(candidate.name)}")
    if past:
        return Reason(candidate.name, f"{label} has judged {past[0]}", _PROVE)
    return Reason(candidate.name, *_unjudged(label, check.results[0] if check.results else None, candidate.same[0]))


def _judged_elsewhere(result: Result, accepted: Mapping[str, Collection[int]]) -> str:
    """Of which other table a result has judged something that does not count here; empty if of none."""
    judged = [
        f"{name} at {snapshot_id}"
        for name, snapshot_id in result.elsewhere.items()
        if snapshot_id not in accepted.get(name, (snapshot_id,))
    ]
    return (
        f"{' and '.join(judged)}, which is not in this release or older than what it was computed from"
        if judged
        else ""
    )


def _unjudged(label: str, newest: Result | None, snapshot_id: int) -> tuple[str, str]:
    """Why no result is about what is to be released, and what to do."""
    if newest is None:
        return f"{label} was never run", _PROVE
    run = f"(run {newest.run_id[:8]})"
    match newest:
        case Result(outcome="running"):
            return f"{label} is not done yet {run}", "wait for it"
        case Result(outcome="errored"):
            return f"{label} errored, so it says neither good nor bad {run}", f"look into that run, then {_PROVE}"
        case Result(snapshot_id=None):
            return f"{label} does not name what it judged", "add `snapshot id` to its metadata"
        case _:
            return f"{label} judged snapshot {newest.snapshot_id}, and {snapshot_id} is to be released", _PROVE
