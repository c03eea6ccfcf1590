"""What an ingest needs, and how the step begins again after its tables were changed or stopped."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

import structlog
from pyspark.sql import SparkSession

from lakehouse.declarations import Declarations, Stream
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base
from lakehouse.settings import IngestSettings, KafkaSettings
from lakehouse.steps.ingest.evolve.changes import TableChanges, carry_out
from lakehouse.steps.ingest.evolve.stopping import require_applied_or_stop, stopped_before

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class IngestStep:
    """What an ingest needs. `session` opens Spark, and only when there is something to read.

    Attributes:
        follows: whether tables may still change with their records.
        evolved: table → how it was changed in this step already.
        stopped: table → why it takes no records.
    """

    stream: Stream
    declarations: Declarations
    catalog: LakeCatalog
    kafka: KafkaSettings
    limits: IngestSettings
    session: Callable[[], AbstractContextManager[SparkSession]]
    attempt: Attempt
    inform: Callable[[str], None] = field(default=lambda message: log.info("ingest", detail=message))
    follows: bool = True
    evolved: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    stopped: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def tables(self) -> tuple[str, ...]:
        """All tables that the step writes, quarantine last."""
        return (*self.stream.tables, self.stream.quarantine_table)


def after_changes(step: IngestStep, changes: TableChanges) -> IngestStep:
    """The step as it begins again, after tables were changed or stopped."""
    done = carry_out(step.catalog, changes)
    for name, lines in done.items():
        step.inform(f"{step.stream.name}: {name} follows its records: {'; '.join(lines)}")
    for name, reason in changes.stopped.items():
        step.inform(f"{step.stream.name}: {name} takes no records any more: {reason}")
    evolved = {name: [*step.evolved.get(name, ()), *lines] for name, lines in done.items()}
    return replace(step, evolved={**step.evolved, **evolved}, stopped={**step.stopped, **changes.stopped})


def with_stopped(step: IngestStep, bases: Mapping[str, Base]) -> IngestStep:
    """The step with the tables that take no records: stopped by a run before, or not as they are declared.

    Raises:
        NotApplied: a table that does not stop by itself is not as declared.
        WouldLoseData: such a table cannot become what is declared.
    """
    before = stopped_before(step.declarations, bases)
    stopped = {**before, **step.stopped, **require_applied_or_stop(step.declarations, bases)}
    return replace(step, stopped=stopped)
