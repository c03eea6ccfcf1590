"""What an ingest needs, and how the step begins again after its tables were made, changed or stopped."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

import structlog
from pyspark.sql import SparkSession

from lakehouse.declarations import Declarations, Stream, ToNamed
from lakehouse.errors import LakehouseError
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import Base
from lakehouse.settings import IngestSettings, KafkaSettings
from lakehouse.steps.ingest.evolve.changes import TableChanges, carry_out
from lakehouse.steps.ingest.routes.made_tables import made_tables, make_tables_for, with_tables_of
from lakehouse.steps.ingest.routes.stopping import (
    Stop,
    require_applied_or_stop,
    require_one_that_goes_on,
    stopped_before,
)

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class IngestStep:
    """What an ingest needs. `session` opens Spark, and only when there is something to read.

    Attributes:
        follows: whether tables may still change with their records.
        evolved: table → how it was changed in this step already.
        stopped: table → why it takes no records, and until when.
        created: tables that were made in this step already because records name them.
        unmakeable: table that records name → why it cannot be made.
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
    stopped: Mapping[str, Stop] = field(default_factory=dict[str, Stop])
    created: tuple[str, ...] = ()
    unmakeable: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def tables(self) -> tuple[str, ...]:
        """All tables that the step writes, quarantine last."""
        return (*self.stream.tables, self.stream.quarantine_table)


def with_named_tables(step: IngestStep) -> IngestStep:
    """The step with the tables that its stream has made because records name them."""
    if not isinstance(step.stream.route, ToNamed):
        return step
    names = dict.fromkeys((*made_tables(step.catalog, step.stream), *step.created))
    declarations = with_tables_of(step.declarations, step.stream, names)
    return replace(step, declarations=declarations, stream=declarations.streams[step.stream.name])


def after_changes(step: IngestStep, changes: TableChanges) -> IngestStep:
    """The step as it begins again, after tables were changed or stopped."""
    done = carry_out(step.catalog, changes)
    for name, lines in done.items():
        step.inform(f"{step.stream.name}: {name} follows its records: {'; '.join(lines)}")
    for name, stop in changes.stopped.items():
        step.inform(f"{step.stream.name}: {name} takes no records any more: {stop.reason}")
    if changes.unmade:
        named = make_tables_for(step.catalog, step.stream, step.declarations, changes.unmade)
        for name in named.made:
            step.inform(f"{step.stream.name}: created table {name}")
        for name, reason in named.refused.items():
            step.inform(f"{step.stream.name}: no table {name}: {reason}")
        created, unmakeable = (*step.created, *named.made), {**step.unmakeable, **named.refused}
        step = replace(step, created=created, unmakeable=unmakeable)
    evolved = {name: [*step.evolved.get(name, ()), *lines] for name, lines in done.items()}
    return replace(step, evolved={**step.evolved, **evolved}, stopped={**step.stopped, **changes.stopped})


def with_stopped(
    step: IngestStep, bases: Mapping[str, Base], unloaded: Mapping[str, LakehouseError] | None = None
) -> IngestStep:
    """The step with the tables that take no records: stopped by a run before, not there, or not as they are declared.

    Args:
        step: as it begins.
        bases: the tables that take part.
        unloaded: table → why it cannot be written to at all.

    Raises:
        NotApplied: a table that the others cannot go on without is not as declared.
        WouldLoseData: such a table cannot become what is declared.
    """
    wrong = {**(unloaded or {}), **require_applied_or_stop(step.stream, step.declarations, bases)}
    require_one_that_goes_on(step.stream, step.declarations, wrong)
    before = stopped_before(step.stream, step.declarations, bases)
    return replace(step, stopped={**before, **step.stopped, **{name: Stop(str(e)) for name, e in wrong.items()}})
