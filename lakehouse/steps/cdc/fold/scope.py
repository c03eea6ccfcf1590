"""What a fold has to reckon with: known before from the mirror's last seal, and of the range from its survey."""

from dataclasses import dataclass
from typing import Self

from lakehouse.declarations import Changelog, Mirror
from lakehouse.declarations.columns.column import Column
from lakehouse.steps.cdc.fold.survey import RangeSurvey
from lakehouse.steps.cdc.position import ChangePosition


@dataclass(frozen=True)
class SealedFold:
    """What the mirror's last seal says; of a rebuild, nothing.

    Attributes:
        truncated: position of the newest truncate.
        low_watermark_us: source time below which nothing is expected any more; 0: nothing is late.
        behind: columns that some row may hold older than its other columns.
        moved: greatest position of a change of key that left values out.
    """

    truncated: ChangePosition | None = None
    low_watermark_us: int = 0
    behind: frozenset[str] = frozenset()
    moved: ChangePosition | None = None


@dataclass(frozen=True)
class FoldScope:
    """One fold of a range. What does not occur in it costs nothing.

    Attributes:
        log: the changelog.
        soft: whether deleted rows stay.
        tracked: columns that need a register of their own, since some change does not send them.
        barrier: the newest truncate, of the range or before: what is older is gone.
        truncating: whether that truncate is of this range, so that it concerns rows without changes as well.
        low_watermark_us: below it a change of an unknown key is too late; None if nothing in the range is below.
        lone_tombstones: whether there are tombstones without position.
        moves: whether there are changes of key that leave values out.
        anew: what older changes of key beyond this position left out may be something else by now; None: it is not.
    """

    log: Changelog
    soft: bool = False
    tracked: tuple[str, ...] = ()
    barrier: ChangePosition | None = None
    truncating: bool = False
    low_watermark_us: int | None = None
    lone_tombstones: bool = False
    moves: bool = False
    anew: ChangePosition | None = None

    @classmethod
    def of(cls, log: Changelog, mirror: Mirror, memory: SealedFold, survey: RangeSurvey) -> Self:
        """Put together what was known and what the range brings."""
        may_be_behind = memory.behind | survey.unavailable
        late = survey.oldest_us is not None and survey.oldest_us < memory.low_watermark_us
        truncates = [position for position in (memory.truncated, survey.truncated) if position is not None]
        barrier = max(truncates, default=None)
        overtaken = survey.oldest is not None and memory.moved is not None and survey.oldest < memory.moved
        return cls(
            log=log,
            soft=mirror.deletes == "soft",
            tracked=tuple(c.name for c in log.columns if c.name in may_be_behind and c.name not in log.key),
            barrier=barrier,
            truncating=barrier is not None and barrier != memory.truncated,
            low_watermark_us=memory.low_watermark_us if late else None,
            lone_tombstones=survey.lone_tombstones > 0,
            moves=survey.moved is not None,
            anew=survey.oldest if overtaken else None,
        )

    @property
    def keys(self) -> tuple[str, ...]:
        """The key's columns."""
        return self.log.key

    @property
    def columns(self) -> tuple[Column, ...]:
        """All other columns."""
        return tuple(column for column in self.log.columns if column.name not in self.log.key)

    @property
    def together(self) -> tuple[str, ...]:
        """Those that every change of the range sends, and that no row holds older than one another."""
        return tuple(column.name for column in self.columns if column.name not in self.tracked)

    @property
    def moving(self) -> bool:
        """Whether values have to be found that a change of key left out: by `key_changes.complete`, before the fold."""
        return bool(self.tracked) and (self.moves or self.anew is not None)

    @property
    def whole_rows(self) -> bool:
        """Whether an old row's values may have to be written again, beside new ones."""
        return self.soft or bool(self.tracked)
