"""One page about an acceptance run, for people: what was tried on what, and how it ended."""

import platform
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import version as version_of

from lakehouse.acceptance.trial import Outcome
from lakehouse.settings import Settings
from lakehouse.settings.installed_package import version


def page(settings: Settings, outcomes: Sequence[Outcome], names: dict[str, str]) -> str:
    """Markdown, without addresses and secrets.

    Args:
        settings: of what was tried.
        outcomes: of the trials.
        names: the files of `conf/` by kind: catalog, platform, kafka.
    """
    return "\n".join(_lines(settings, outcomes, names)) + "\n"


def _lines(settings: Settings, outcomes: Sequence[Outcome], names: dict[str, str]) -> Iterator[str]:
    counts = {verdict: sum(o.verdict == verdict for o in outcomes) for verdict in ("seen", "not seen", "refused")}
    yield f"# {names['catalog']} on {names['platform']}"
    yield ""
    yield f"{datetime.now(UTC):%Y-%m-%d}: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items()) + "."
    yield ""
    yield "| what | |"
    yield "|---|---|"
    for what, value in _environment(settings, names).items():
        yield f"| {what} | {value} |"
    yield ""
    yield "| trial | promise | verdict | what was seen | seconds |"
    yield "|---|---|---|---|---:|"
    for outcome in outcomes:
        evidence = _cell(f"{outcome.evidence}. To do: {outcome.remedy}" if outcome.remedy else outcome.evidence)
        yield f"| {outcome.trial} | {outcome.promise} | {outcome.verdict} | {evidence} | {outcome.seconds:.1f} |"


def _environment(settings: Settings, names: dict[str, str]) -> dict[str, str]:
    catalog, spark = settings.catalog, settings.platform
    return {
        "catalog": f"{names['catalog']}, type {catalog.type}",
        **({"reservation": catalog.reservation} if catalog.reservation else {}),
        "platform": f"{names['platform']}, mode {spark.mode}",
        "kafka": names["kafka"],
        "lakehouse": version(),
        "Spark": version_of("pyspark"),
        "PyIceberg": version_of("pyiceberg"),
        "Python": platform.python_version(),
    }


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
