"""How distribution checks tell what they found: a sentence, numbers that Dagster plots over time, and a picture."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import dagster as dg

from lakehouse.contracts.profile.axis import shown
from lakehouse.contracts.profile.distance import ShareGap
from lakehouse.contracts.profile.picture import markdown
from lakehouse.contracts.profile.statistics import ColumnProfile
from lakehouse.orchestration.checks.table_question import TableCheckRun
from lakehouse.orchestration.resources.materialization import rows_shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def result(
    asked: TableCheckRun,
    name: str,
    *,
    passed: bool,
    said: str,
    metadata: Mapping[str, Any],
    picture: "Figure | None" = None,
) -> dg.AssetCheckResult:
    """Tell an answer. Another distribution is a reason to look, not yet an error: never more than a warning."""
    pinned = asked.pinned.snapshot_id
    return dg.AssetCheckResult(
        asset_key=asked.key,
        check_name=name,
        passed=passed,
        severity=dg.AssetCheckSeverity.WARN,
        description=said,
        metadata={
            "snapshot id": str(pinned or "none"),
            **metadata,
            **({"plot": dg.MetadataValue.md(markdown(picture, alt=name, said=said))} if picture else {}),
        },
    )


def counts(found: ColumnProfile) -> dict[str, Any]:
    """Rows, missing values, and where the others lie: numbers as numbers, dates as text."""
    told: dict[str, Any] = {"rows": found.rows, "missing": found.missing}
    if found.odd:
        told["NaN or beyond 1e288"] = found.odd
    if (spread := found.spread) is not None:
        places = {
            "least": spread.least,
            "lower quartile": spread.quantile(0.25),
            "median": spread.median,
            "mean": spread.mean,
            "upper quartile": spread.quantile(0.75),
            "greatest": spread.greatest,
        }
        as_text = found.kind != "number"
        told |= {name: shown(place, found.kind) if as_text else float(place) for name, place in places.items()}
    return told


def gaps_shown(gaps: Sequence[ShareGap], here: str, there: str) -> dict[str, Any]:
    """Where shares differ most, as a small table; nothing where they do not."""
    if not gaps:
        return {}
    columns = {"values": "string", here: "string", there: "string"}
    return {"largest differences": rows_shown(columns, [(g.name, f"{g.here:.2%}", f"{g.there:.2%}") for g in gaps])}


def describe_gaps(gaps: Sequence[ShareGap]) -> str:
    """Where shares differ most, in words."""
    return "; ".join(f"{gap.name}: {gap.here:.1%} against {gap.there:.1%}" for gap in gaps)
