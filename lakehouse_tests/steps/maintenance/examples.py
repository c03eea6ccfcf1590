"""The three worked examples of the page on maintenance: states that nobody has written, and the plans that follow."""

from dataclasses import replace
from datetime import timedelta
from textwrap import wrap

from lakehouse.declarations import AUDIT_LOG, Maintenance
from lakehouse.steps.maintenance.explain import in_words
from lakehouse.steps.maintenance.model.state import Cadence, MeasuredState, PartitionState, SnapshotHold, Totals, Traits
from lakehouse.steps.maintenance.survey import Surveyed
from lakehouse_tests.mechanisms.page import WIDTH
from lakehouse_tests.steps.maintenance.states import DAY, HOUR, MIB, NOW, decided, line, part, state


def _explained(measured: MeasuredState, policy: Maintenance | None = None) -> str:
    return "\n".join(map(_folded, in_words(Surveyed(AUDIT_LOG, measured, decided(measured, policy)))))


def _folded(text: str) -> str:
    """A line as a page shows it."""
    margin = " " * (len(text) - len(text.lstrip()))
    folded = wrap(text, WIDTH, subsequent_indent=f"{margin}  ", break_long_words=False, break_on_hyphens=False)
    return "\n".join(folded)


def neglected() -> str:
    """Two thousand small files in four days, six hundred commits, and nobody has ever looked after them."""
    days = [part(f"day=2013-05-{n:02}", files=500, size=MIB // 4, last_change=NOW - n * HOUR) for n in range(1, 5)]
    history = line(600, every=timedelta(minutes=20))
    return _explained(_manifests(state(*days, history=history, updated_at=NOW - HOUR), 600))


def healthy() -> str:
    """Ten files of the right size."""
    days = [part(f"day=2013-05-{n:02}", files=1, size=110 * MIB, last_change=NOW - n * DAY) for n in range(1, 11)]
    return _explained(state(*days, history=line(12)))


def held_up() -> str:
    """A writer at work, a writer of equality deletes, and a mirror that lags behind."""
    busy = part(
        "day=2013-06-01", files=40, last_change=NOW - timedelta(minutes=4), changes_per_hour=60.0, ends=NOW + DAY / 2
    )
    foreign: PartitionState = part("day=2013-05-31", files=40, delete_files=3, equality_deletes=120)
    lagging = SnapshotHold(
        kind="mirror",
        owner="mirror.things",
        snapshot_id=3,
        since_on=True,
        until=NOW - DAY,
        command="lakehouse lease release raw.things mirror.things --yes",
        reason="mirror.things is to read on here",
    )
    measured = state(
        busy,
        foreign,
        history=line(80, every=2 * HOUR),
        holders=(lagging,),
        traits=Traits(followed_by=("mirror.things",)),
    )
    return _explained(measured)


def _manifests(measured: MeasuredState, count: int) -> MeasuredState:
    totals: Totals = replace(measured.totals, manifests=count, manifest_bytes=count * 8_000)
    return replace(measured, totals=totals, cadence=Cadence(commit_ms=900.0))


EXAMPLES = {"neglected": neglected, "healthy": healthy, "held up": held_up}
