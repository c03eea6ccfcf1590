"""Reads what can be read of a plan: up to the first offset of each partition that cannot, which is then named."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from pyspark.sql import SparkSession

from lakehouse.engines.kafka import Oversized
from lakehouse.engines.kafka.loss_ledger import accepted_ranges
from lakehouse.engines.kafka.oversized import LIMIT
from lakehouse.engines.registries import RegistryUnavailable
from lakehouse.engines.spark.interrupts import interrupts_unmasked
from lakehouse.settings import KafkaSettings
from lakehouse.settings.storage_refusal import StorageRefused, storage_refusal
from lakehouse.steps.ingest.plan import IngestPlan
from lakehouse.steps.ingest.read.narrowing import Bounds, Ranges, Unreadable, find_unreadable
from lakehouse.steps.ingest.read.unreadable import RecordTooLarge
from lakehouse.steps.ingest.report import WriteResult
from lakehouse.steps.ingest.workers.decoder_selection.schema_lookup import NoRegistry
from lakehouse.steps.ingest.workers.lent_credentials import CredentialsEnded
from lakehouse.steps.ingest.workers.reading import read_and_write
from lakehouse.steps.ingest.workers.work import IngestWork


@dataclass(frozen=True)
class Readable:
    """What of a plan was read.

    Args:
        plan: as much of it as could be read.
        unreadable: what keeps the rest from being read; nothing where all of it was.
        spark_ended: whether it was found without Spark, whose memory it has ended, so that nothing was read.
    """

    plan: IngestPlan
    landed: WriteResult
    unreadable: tuple[Unreadable, ...] = ()
    spark_ended: bool = False


@dataclass(frozen=True)
class PlanReader:
    """How a plan is read with Spark, its records decoded and written as in every ingest."""

    spark: SparkSession
    kafka: KafkaSettings
    work: IngestWork
    min_partitions: int

    def land(self, plan: IngestPlan) -> WriteResult:
        """Read a plan and keep what it gives."""
        with interrupts_unmasked():
            return read_and_write(
                self.spark, self.kafka, replace(self.work, plan=plan), min_partitions=self.min_partitions
            )

    def attempt(self, plan: IngestPlan) -> None:
        """Read a plan and keep nothing of it."""
        work = replace(self.work, plan=plan, keep=False)
        with interrupts_unmasked():
            read_and_write(self.spark, self.kafka, work, min_partitions=self.min_partitions)


def read_what_can_be_read(
    plan: IngestPlan,
    land: Callable[[IngestPlan], WriteResult],
    attempt: Callable[[IngestPlan], None],
    *,
    look: Callable[[], None],
    oversized: Callable[[IngestPlan], Oversized | None],
    inform: Callable[[str], None],
    bounds: Bounds | None = None,
) -> Readable:
    """Read a plan; where that fails for the sake of a record, without it and what comes after it in its partition.

    Args:
        plan: what to read.
        land: reads a plan and keeps what it gives; what it raises, a record may be to blame for.
        attempt: reads a plan and keeps nothing.
        look: raises where nothing at all could be read now, before any record is suspected.
        oversized: looks, without Spark, for a record that ends Spark's memory.
        inform: is told what is looked for.
        bounds: of the search, for all that cannot be read together.

    Raises:
        NoRegistry, RegistryUnavailable: nobody says which schemas the records are of.
        StorageRefused: the disk is full or read-only; no record is suspected.
        CredentialsEnded: the credentials that the catalog lends ended twice, while workers wrote.
        Exception: what `land` raised, where no single offset is to blame.
    """
    unreadable: list[Unreadable] = []
    renewed = False
    while plan.ranges:
        try:
            return Readable(plan, land(plan), tuple(unreadable))
        except CredentialsEnded as ended:
            if renewed:
                raise  # however often: it takes longer than they last
            renewed = True
            inform(f"{ended.message} It is read again, with others.")
        except (NoRegistry, RegistryUnavailable):
            raise  # no record is to blame
        except Exception as error:
            if (refusal := storage_refusal(error)) is not None:
                what = f"What was read of topic {plan.topic.topic} cannot be written: the disk of its tables"
                raise StorageRefused(what, refusal) from error
            if unreadable and not unreadable[-1].exact:
                raise  # what is left of the plan was read before, so this is something else
            look()
            bounds = bounds or Bounds()
            inform(f"{plan.offsets} offsets of {plan.topic.topic} cannot be read together; looking for those to blame")
            tried = partial(_tried, attempt, plan)
            offsets = find_unreadable(plan.ranges, tried, error, bounds, known=_read_before(plan))
            if offsets is None:
                inform("no offset is to blame by what Spark says; looking for a record that is too large for it")
                if (record := oversized(plan)) is None:
                    raise
                cause = RecordTooLarge(f"a record of more than {LIMIT >> 20} MiB, or one that cannot be unpacked")
                too_large = Unreadable(record.partition, record.offset, record.offset + 1, cause)
                return Readable(plan, WriteResult.nothing(), (*unreadable, too_large), spark_ended=True)
            unreadable.append(offsets)
            plan = _before(plan, offsets)
    return Readable(plan, WriteResult.nothing(), tuple(unreadable))


def _tried(attempt: Callable[[IngestPlan], None], plan: IngestPlan, ranges: Ranges) -> Exception | None:
    """Read these ranges of a plan and nothing else; what it raised."""
    start, end = (
        {partition: span[0] for partition, span in ranges.items()},
        {partition: span[1] for partition, span in ranges.items()},
    )
    try:
        attempt(replace(plan, start=start, end=end, skipped={}))
    except Exception as error:  # noqa: BLE001 # whatever it is: that it fails, and where, is the question
        return error
    return None


def _before(plan: IngestPlan, offsets: Unreadable) -> IngestPlan:
    """The plan without what cannot be read and what comes after it: in its partition or, where not exact, in all."""
    end = {
        partition: plan.start[partition] if partition > offsets.partition and not offsets.exact else end
        for partition, end in plan.end.items()
    }
    end[offsets.partition] = offsets.start
    return replace(
        plan,
        end=end,
        skipped={partition: span for partition, span in plan.skipped.items() if end[partition] == span[1]},
    )


def _read_before(plan: IngestPlan) -> Ranges:
    """Offsets right before the plan, which earlier runs have read, where they are still in the log."""
    if plan.previous is None:
        return {}
    given_up = accepted_ranges(plan.previous.losses, plan.topic.numbers.ids)
    return {
        partition: (start - 1, start)
        for partition, start in sorted(plan.start.items())
        if start > plan.topic.partitions[partition].earliest
        and all(end != start for _, end in given_up.get(partition, []))
    }
