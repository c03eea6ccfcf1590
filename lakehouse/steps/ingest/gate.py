"""The audit before publish: too many unacceptable records stop the step while nobody can see it."""

from collections.abc import Mapping

from lakehouse.declarations import Stream
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.formats.evolution.stopped import TABLE_STOPPED
from lakehouse.steps.ingest.plan import IngestPlan
from lakehouse.steps.ingest.refused_batch import BatchRefused
from lakehouse.steps.ingest.report import WriteResult
from lakehouse.steps.ingest.workers.broken_columns import reasons_shown

LAST_RECORDS = 20
"""When so many of a partition's newest records were all refused, its producer is broken, however small the runs are."""


class TooMuchQuarantined(BatchRefused):
    """More records were unacceptable than the stream's declaration allows."""


def refused_ends(plan: IngestPlan, statement: KafkaStatement) -> dict[int, int]:
    """Partition → how many of its newest records were refused, one after the other, where this step brought some.

    Only where the step comes to the end of the partition: at a cap there are newer ones, which the next run will see.
    """
    before = (plan.previous.refused_last if plan.previous else None) or {}
    return {
        partition: times
        for partition, times in (statement.refused_last or {}).items()
        if times > before.get(partition, 0) and plan.end[partition] == plan.topic.partitions[partition].last_stable
    }


def require_acceptable(stream: Stream, landed: WriteResult, branch: str, refused_last: Mapping[int, int]) -> None:
    """Refuse to publish when more records are quarantined than declared, or all of a partition's newest ones.

    Tombstones are kept in quarantine as well, but a record without a value is not a broken one and does not count here.
    Nor does one whose table takes none at the moment.

    Args:
        stream: with its declared share and number.
        landed: what the workers counted.
        branch: where the quarantined records can be looked at, until the next refusal or housekeeping removes it.
        refused_last: partition → how many of its newest records were refused, see `refused_ends`.

    Raises:
        TooMuchQuarantined: with the share or partition, the most frequent reasons, and the broken columns.
    """
    counts = landed.counts
    broken = counts.quarantined - counts.tombstones - landed.errors.get(TABLE_STOPPED, 0)
    allowed = stream.max_quarantine_share
    reasons = reasons_shown(landed.errors, landed.columns)
    hint = f"look at them in branch {branch} of {stream.quarantine_table}"
    # Who allows none means none, also of the first few.
    if broken > (stream.max_quarantine_records if allowed else 0) and broken / counts.read > allowed:
        raise TooMuchQuarantined(
            f"Stream {stream.name}: {broken} of {counts.read} records of topic {stream.topic} are not acceptable "
            f"({broken / counts.read:.2%}, allowed {allowed:.2%}; {reasons}); nothing was published.",
            remedy=f"{hint}, correct the producer or the declaration, or raise max_quarantine_share; the same offsets "
            "are tried again",
        )
    stuck = {partition: times for partition, times in refused_last.items() if times >= LAST_RECORDS}
    if stuck and allowed < 1:
        partitions = ", ".join(
            f"the last {times} of partition {partition}" for partition, times in sorted(stuck.items())
        )
        raise TooMuchQuarantined(
            f"Stream {stream.name}: of topic {stream.topic}, {partitions} are not acceptable, without a good record "
            f"between them ({reasons}); nothing was published.",
            remedy=f"{hint} and in {stream.quarantine_table}, and correct the producer or the declaration; if they "
            "are to be quarantined, declare max_quarantine_share=1 until they are",
        )
