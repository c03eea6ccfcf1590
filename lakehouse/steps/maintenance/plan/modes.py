"""Copy-on-write or merge-on-read: what a table's own changes and readers speak for. Advice; nothing follows of itself.

Copying a file for one changed row costs the writer, a delete file costs every reader until a rewrite removes it. A
mirror chooses for each batch (`cdc/merge/merge_plan.py`), so advice is for tables that something else merges into.
"""

from dataclasses import dataclass
from typing import Literal

from lakehouse.steps.maintenance.model.action import Advice
from lakehouse.steps.maintenance.model.state import MeasuredState

Mode = Literal["copy-on-write", "merge-on-read"]
SETTING = "write.merge.mode"
_VECTORS = 3
# As in the planner of merges: beyond these shares readers feel deletes more than writers feel copies.
_MOST_CHANGED = 0.3
_MOST_DELETED = 0.15
# A merge that copies so many times what it changes is spared most of its work by deletes.
_WORTH = 3.0
_MANY_READERS = 5


@dataclass(frozen=True, kw_only=True)
class ModeFacts:
    """What the recommendation goes by.

    Attributes:
        changed_ratio: share of the rows that a merge updates or deletes.
        copied_ratio: share of the rows that it writes anew to do so; 0 where it writes deletes.
        delete_ratio: share of the rows that are deleted by delete files now.
        readers: declared tables and releases that read the table.
        format_version: of the table.
    """

    changed_ratio: float
    copied_ratio: float = 0.0
    delete_ratio: float = 0.0
    readers: int = 0
    format_version: int = 2


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """The mode, and why."""

    mode: Mode
    because: str


def recommend(facts: ModeFacts) -> Recommendation:
    """Recommend a mode for a table's merges."""
    if facts.changed_ratio > _MOST_CHANGED:
        reason = f"{facts.changed_ratio:.0%} of the rows change at once: most files are written anew either way"
        return Recommendation(mode="copy-on-write", because=reason)
    if facts.delete_ratio > _MOST_DELETED:
        reason = f"{facts.delete_ratio:.0%} of the rows in files are deleted, which every reader passes over"
        return Recommendation(mode="copy-on-write", because=reason)
    if facts.copied_ratio and facts.copied_ratio < _WORTH * facts.changed_ratio:
        reason = (
            f"a merge copies {facts.copied_ratio:.1%} of the rows to change {facts.changed_ratio:.1%}: little is lost"
        )
        return Recommendation(mode="copy-on-write", because=reason)
    if facts.format_version < _VECTORS and facts.readers >= _MANY_READERS:
        reason = f"{facts.readers} readers would each read the delete files; with format version 3 they are small"
        return Recommendation(mode="copy-on-write", because=reason)
    form = "delete vectors" if facts.format_version >= _VECTORS else "position deletes"
    spared = f" and not copy {facts.copied_ratio:.1%}" if facts.copied_ratio else ""
    reason = f"a merge changes {facts.changed_ratio:.1%} of the rows: {form} name those{spared}"
    return Recommendation(mode="merge-on-read", because=reason)


def mode_facts(state: MeasuredState) -> ModeFacts | None:
    """What the newest merges were like; None where there were none."""
    if state.cadence.changed_share is None:
        return None
    totals = state.totals
    return ModeFacts(
        changed_ratio=state.cadence.changed_share,
        copied_ratio=state.cadence.copied_share or 0.0,
        delete_ratio=totals.position_deletes / totals.records if totals.records else 0.0,
        readers=state.traits.readers,
        format_version=state.traits.format_version,
    )


def advise_mode(state: MeasuredState) -> tuple[Advice, ...]:
    """Advice where the table's mode is another one than what speaks for itself."""
    facts = mode_facts(state)
    if facts is None or state.traits.writer == "mirror":
        return ()
    recommendation = recommend(facts)
    if state.traits.properties.get(SETTING, "copy-on-write") == recommendation.mode:
        return ()
    return (Advice(setting=SETTING, value=recommendation.mode, because=recommendation.because),)
