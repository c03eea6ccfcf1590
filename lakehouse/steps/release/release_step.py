"""What one release needs, and how it ended."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from lakehouse.declarations import Release
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.steps.release.gate.results import Check
from lakehouse.steps.release.gate.rewrites import FindChangedRows
from lakehouse.steps.release.remedies import Remedies
from lakehouse.steps.release.statement import ReleaseMember

Outcome = Literal["released", "completed", "already", "unchanged"]


def _silent(_: str) -> None:
    return None


@dataclass(frozen=True)
class ReleaseStep:
    """What one release needs.

    Args:
        release: the group as declared.
        catalog: where its tables live.
        attempt: who releases.
        find_changed_rows: looks at the rewrites of others.
        checks: what was found of each check that the release waits for.
        dated: members that carry a runtime date.
        why: for the record.
        inform: tells progress.
        remedies: what to do about each table that keeps the release from going ahead.
    """

    release: Release
    catalog: LakeCatalog
    attempt: Attempt
    find_changed_rows: FindChangedRows
    checks: Sequence[Check] = ()
    dated: frozenset[str] = frozenset()
    why: str = "every member was judged"
    inform: Callable[[str], None] = _silent
    remedies: Remedies = field(default_factory=Remedies)


@dataclass(frozen=True)
class Released:
    """How it ended.

    Args:
        outcome: `released`; `completed` what an earlier try of this root run had begun; `already` by an earlier try;
            `unchanged`: the members are what the newest release holds, so there is nothing to release.
        id: the release that the pointer names.
        previous: what it named before; None for the first release.
        changed: member → what is new in it, in words.
        pointer: snapshot of the pointer's seal.
        note: why nothing was released.
        dropped: releases that are not kept any more.
    """

    outcome: Outcome
    id: str
    members: tuple[ReleaseMember, ...]
    previous: str | None
    changed: Mapping[str, str] = field(default_factory=dict[str, str])
    parameters: str = "{}"
    pointer: int | None = None
    note: str = ""
    dropped: tuple[str, ...] = ()
    seconds: float = 0.0
