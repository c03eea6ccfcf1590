"""What a check of a column tells: a sentence, numbers that Dagster plots over time, and a picture."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakehouse.contracts.profile.axis import shown
from lakehouse.contracts.profile.distance import ShareGap
from lakehouse.contracts.profile.statistics import ColumnProfile
from lakehouse.orchestration.resources.materialization import rows_shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Answer:
    """What became of one check.

    Attributes:
        passed: whether the column is as it should be.
        description: why, for somebody who does not read code.
        metadata: numbers as numbers, dates as text.
        figure: what the check shows.
        judged: whether there was anything to judge.
    """

    passed: bool
    description: str
    metadata: Mapping[str, Any]
    figure: "Figure | None" = None
    judged: bool = True


def nothing_to_judge(description: str, metadata: Mapping[str, Any] | None = None) -> Answer:
    """Before the first rows, on this side or the other."""
    return Answer(passed=True, description=description, metadata=metadata or {}, judged=False)


def counts(profile: ColumnProfile) -> dict[str, Any]:
    """Rows, missing values, and where the others lie: numbers as numbers, dates as text."""
    numbers: dict[str, Any] = {"rows": profile.rows, "missing": profile.missing}
    if profile.odd:
        numbers["NaN or beyond 1e288"] = profile.odd
    if (spread := profile.spread) is not None:
        values = {
            "least": spread.least,
            "lower quartile": spread.quantile(0.25),
            "median": spread.median,
            "mean": spread.mean,
            "upper quartile": spread.quantile(0.75),
            "greatest": spread.greatest,
        }
        as_text = profile.kind != "number"
        numbers |= {name: shown(value, profile.kind) if as_text else float(value) for name, value in values.items()}
    return numbers


def gaps_shown(gaps: Sequence[ShareGap], title: str, other_title: str) -> dict[str, Any]:
    """Where shares differ most, as a small table; nothing where they do not."""
    if not gaps:
        return {}
    columns = {"values": "string", title: "string", other_title: "string"}
    return {"largest differences": rows_shown(columns, [(g.name, f"{g.here:.2%}", f"{g.there:.2%}") for g in gaps])}


def describe_gaps(gaps: Sequence[ShareGap]) -> str:
    """Where shares differ most, in words."""
    return "; ".join(f"{gap.name}: {gap.here:.1%} against {gap.there:.1%}" for gap in gaps)
