"""The proof by key and count, where no row says of which record it is. It decides some cases, and says why not others.

- More rows than offsets were ever given out, or than there are records: some record has two rows.
- As many rows as records, and no two rows of one key: a record has at most one row, so each has exactly one. The key
  has to be made of the record alone.
- Anything else: a record that is missing and one that is there twice cancel out.
"""

from dataclasses import dataclass

from lakehouse.engines.kafka.second_look import OffsetGap
from lakehouse.proofs.foreign.by_coordinates import Expectations, Judgement
from lakehouse.proofs.foreign.proof import ForeignFinding
from lakehouse.proofs.foreign.record_log import RecordLog
from lakehouse.quantities import quantity


@dataclass(frozen=True)
class KeyCounts:
    """Rows of all tables.

    Attributes:
        rows: how many.
        key: the columns of the key; empty where there is none.
        repeated: keys that more than one row has.
    """

    rows: int
    key: tuple[str, ...] = ()
    repeated: int = 0


def judge_counts(counts: KeyCounts, log: RecordLog, expected: Expectations, transform: str) -> Judgement:
    """Compare a number of rows with the records of a topic.

    Args:
        counts: of the tables.
        log: the topic, as it was after the tables were loaded.
        expected: what the writer does on purpose.
        transform: what would let the writer say of which record a row is.
    """
    judgement = Judgement()
    remedy = f"To decide it, let the writer add coordinates: {transform}."
    given_out = sum(limits.last_stable for limits in log.partitions.values())
    if counts.rows > given_out:
        judgement.findings.append(_too_many(counts.rows, f"offsets that {log.topic} ever gave out", given_out, remedy))
        return judgement
    if shortened := sorted(p for p, limits in log.partitions.items() if limits.earliest > 0):
        judgement.undecided.append(
            f"Kafka has let the first records of {_partitions(shortened)} go, so nobody can count them. {remedy}"
        )
        return judgement
    ranges = [OffsetGap(p, limits.earliest, limits.last_stable) for p, limits in log.partitions.items()]
    reached = records = 0
    for batch in log.read([gap for gap in ranges if gap.start < gap.end]):
        records += int(batch.has_value.sum())
        reached += int((batch.has_value & (batch.offsets < log.end(batch.partition))).sum())
    if log.compacted:
        judgement.undecided.append(f"{log.topic} is compacted, so its records are fewer than were written. {remedy}")
    elif counts.rows > records:
        judgement.findings.append(_too_many(counts.rows, f"records of {log.topic}", records, remedy))
    elif counts.rows < reached and log.positions and not (expected.filters or expected.started_late):
        message = (
            f"{quantity(counts.rows, 'row')} of {reached:,} records of {log.topic} that the writer's consumer group "
            f"has passed: at least {reached - counts.rows:,} are lost. {remedy}"
        )
        judgement.findings.append(ForeignFinding("too_few_rows", message))
    elif counts.rows < records:
        judgement.undecided.append(
            f"{quantity(counts.rows, 'row')} of {records:,} records: the others are lost, left out, or not written "
            f"yet, and some of these may be there twice. {remedy}"
        )
    elif records and not counts.key:
        judgement.undecided.append(
            f"As many rows as records ({records:,}), and no key: one that is there twice may stand for one that is "
            f"lost. Name the key with --key, or: {remedy}"
        )
    elif counts.repeated:
        judgement.undecided.append(
            f"As many rows as records ({records:,}), and {quantity(counts.repeated, 'key')} "
            f"({', '.join(counts.key)}) with more than one row: records of one key, or one record twice. {remedy}"
        )
    return judgement


def _too_many(rows: int, of_what: str, count: int, remedy: str) -> ForeignFinding:
    message = f"{quantity(rows, 'row')}, and {count:,} {of_what}: at least {rows - count:,} are there twice. {remedy}"
    return ForeignFinding("too_many_rows", message)


def _partitions(numbers: list[int]) -> str:
    return f"{'partition' if len(numbers) == 1 else 'partitions'} {', '.join(map(str, numbers))}"
