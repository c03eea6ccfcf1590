"""What a step of a mirror has planned, and what came of it on the attempt's branches."""

from collections.abc import Mapping
from dataclasses import dataclass

from lakehouse.declarations import MirrorTables
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base
from lakehouse.steps.cdc.fold.scope import SealedFold
from lakehouse.steps.cdc.merge.merge_plan import MergePlan
from lakehouse.steps.cdc.plan.range import Range
from lakehouse.steps.cdc.statement import MirrorStatement


@dataclass(frozen=True)
class MirrorWork:
    """What a step has planned.

    Args:
        tables: the mirror.
        catalog: where its tables live.
        attempt: who writes.
        bases: the tables that it writes, as they were loaded together.
        previous: what the mirror's seals say; None before its first run.
        change_range: the new range; None where there is nothing new.
        rebuild: whether everything is put in the place of what is there.
        notes: what a reader should know.
    """

    tables: MirrorTables
    catalog: LakeCatalog
    attempt: Attempt
    bases: Mapping[str, Base]
    previous: MirrorStatement | None
    change_range: Range | None = None
    rebuild: bool = False
    notes: tuple[str, ...] = ()

    @property
    def continued(self) -> MirrorStatement | None:
        """The statement on which this one builds; a rebuild builds on none."""
        return None if self.rebuild else self.previous

    @property
    def needs_every_change(self) -> bool:
        """Whether the changelog must hold all changes since its beginning."""
        return self.rebuild or (self.previous is None and self.tables.mirror.initial is None)

    @property
    def memory(self) -> SealedFold:
        """What the fold has to remember."""
        if (known := self.continued) is None:
            return SealedFold()
        return SealedFold(known.truncated, known.low_watermark_us, frozenset(known.behind), known.moved)


@dataclass(frozen=True)
class StagedRange:
    """What came of a range, on the attempt's branches: nobody sees it yet."""

    statement: MirrorStatement
    plan: MergePlan
