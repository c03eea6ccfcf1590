"""What the members of a release have to agree on: runtime dates, parameters, and each with itself."""

from collections.abc import Mapping

from lakehouse import seal_keys
from lakehouse.proofs.lineage.computations import Computation, computations_of
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.release.gate.results import Reason
from lakehouse.steps.release.remedies import Remedies


def odd_within(name: str, seal: Seal, remedies: Remedies) -> Reason | None:
    """Why a member does not agree with itself: earlier runs have computed parts of it, or its inputs did not agree."""
    every = computations_of(seal)
    if len(every) < 2:
        declared = seal.statement.get(seal_keys.DERIVED_DIFFERS)
        problem = f"it was computed from inputs that do not agree, which was declared ({declared})"
        return Reason(name, problem, f"make it anew: {remedies.anew(name, upstream=True)}") if declared else None
    parts = "; ".join(f"{computation.among(every)}: {computation.whose}" for computation in every)
    problem = f"parts of it were computed for other dates or with other parameters ({parts})"
    return Reason(name, problem, f"compute it whole: {remedies.anew(name)}")


def parameters_differ(newest: Mapping[str, Computation], remedies: Remedies) -> list[Reason]:
    """One line for each parameter that members have used with several values.

    Where a member does not say which it has used, one line if the parameters of their runs differ.
    """
    if any(computation.used is None for computation in newest.values()):
        digests = {name: computation.parameters for name, computation in newest.items()}
        return disagreement("parameters", digests, remedies)
    values: dict[str, dict[str, str]] = {}
    for member, computation in newest.items():
        for parameter, digest in (computation.used or {}).items():
            values.setdefault(parameter, {})[member] = digest
    return [
        reason
        for parameter, by_member in sorted(values.items())
        for reason in disagreement(f"values of the parameter {parameter}", by_member, remedies)
    ]


def disagreement(label: str, values: Mapping[str, str], remedies: Remedies) -> list[Reason]:
    """One line for all dated members, if they do not carry the same."""
    groups: dict[str, list[str]] = {}
    for name, value in sorted(values.items()):
        groups.setdefault(value, []).append(name)
    if len(groups) < 2:
        return []
    shown = "; ".join(f"{value or 'none'}: {', '.join(names)}" for value, names in sorted(groups.items()))
    fewer = sorted(groups.values(), key=len)[:-1]
    return [
        Reason(
            ", ".join(name for names in fewer for name in names),
            f"the {label} of the members differ ({shown})",
            f"make them anew in one run: {remedies.anew(*sorted(values), upstream=True)}",
        )
    ]
