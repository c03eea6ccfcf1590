"""How many changes were refused for coming too late, of those that could be: from a mirror's seals alone.

A change is too late only where nothing is known of its key, so it is compared with the rows that runs inserted. Where
the share is large, a clock was ahead, or the declared lateness is too short: rows are missing from the mirror.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lakehouse.steps.cdc.evidence import MirrorLink

_LOOKED_AT = 1000  # rows of the newest runs; what came right long ago must not hide what goes wrong now
_LEAST = 5  # changes; fewer are a matter of each one


@dataclass(frozen=True)
class LateShare:
    """What the newest runs refused.

    Args:
        refused: changes that came too late; they are in the mirror's quarantine.
        inserted: rows that the same runs inserted.
        runs: how many runs.
        allowed: the declared share.
    """

    refused: int = 0
    inserted: int = 0
    runs: int = 0
    allowed: float = 1.0

    def __str__(self) -> str:
        return (
            f"{self.refused:,} changes were refused as too late by the newest {self.runs:,} runs, which inserted "
            f"{self.inserted:,} rows ({self.share:.1%} refused, {self.allowed:.1%} allowed): a clock was ahead, or the "
            "declared `lateness` is too short. A rebuild takes them in."
        )

    @property
    def share(self) -> float:
        """Of the changes of unknown keys, those that were refused."""
        return self.refused / (self.refused + self.inserted) if self.refused else 0.0

    @property
    def holds(self) -> bool:
        """Whether it is as small as declared."""
        return self.refused < _LEAST or self.share <= self.allowed


def late_share(links: Sequence[MirrorLink], allowed: float) -> LateShare:
    """Add up the newest runs of the newest build.

    Args:
        links: the mirror's seals, oldest first.
        allowed: the declared share.
    """
    refused = inserted = runs = 0
    for link in reversed(links):
        if link.sealed.seal.kind == "maintenance":
            continue
        if link.statement.build != links[-1].statement.build or refused + inserted >= _LOOKED_AT:
            break
        refused += link.statement.applied.too_late
        inserted += link.statement.applied.inserted
        runs += 1
    return LateShare(refused, inserted, runs, allowed)
