"""The Kafka part of a seal survives the way through snapshot summaries, and its totals add up."""

from hypothesis import given
from hypothesis import strategies as st

from lakehouse.engines.kafka.statement import WITHOUT_RECORD, Counts, KafkaStatement
from lakehouse.engines.kafka.tally import Tally

NUMBERS = st.integers(0, 2**63 - 1)
PARTITIONS = st.integers(0, 2000)
OFFSETS = st.dictionaries(PARTITIONS, NUMBERS, max_size=4)
TALLIES = st.dictionaries(
    st.sampled_from(["raw.a", "raw.b", "(lost)"]),
    st.dictionaries(PARTITIONS, st.builds(Tally, NUMBERS, st.integers(0, 2**100), st.integers(0, 2**170)), max_size=3),
    max_size=3,
)
COUNTS = st.builds(Counts, NUMBERS, NUMBERS)
STATEMENTS = st.builds(
    KafkaStatement,
    cluster_id=st.text(),
    topic=st.text(),
    topic_id=st.text(),
    start=OFFSETS,
    end=OFFSETS,
    tallies=TALLIES,
    totals=TALLIES,
    origin=OFFSETS,
    lost=st.dictionaries(PARTITIONS, st.lists(st.tuples(NUMBERS, NUMBERS), max_size=2), max_size=2),
    counts=COUNTS,
    total_counts=COUNTS,
    valid_through_ms=NUMBERS,
    refused_last=st.none() | OFFSETS,
    without_record=st.none() | OFFSETS,
    because=st.sampled_from(["", *WITHOUT_RECORD]),
    leader_epochs=OFFSETS,
)


@given(STATEMENTS)
def test_a_statement_survives_the_summary(statement: KafkaStatement) -> None:
    keys = statement.to_keys()
    assert all(isinstance(value, str) for value in keys.values())
    assert KafkaStatement.from_keys(keys) == statement


def test_a_seal_of_an_older_version_is_read() -> None:
    keys = KafkaStatement("c", "t", "i", {0: 1}, {0: 2}).to_keys()
    assert not {key for key in keys if key.startswith(("kafka.refused_last", "kafka.without_record", "kafka.leader"))}
    assert KafkaStatement.from_keys(keys) == KafkaStatement("c", "t", "i", {0: 1}, {0: 2})


def test_keys_of_something_else_are_no_statement() -> None:
    assert KafkaStatement.from_keys({"merge.range": "1-2"}) is None


def test_totals_run_on_and_the_origin_stays() -> None:
    def step(start: int, end: int) -> KafkaStatement:
        return KafkaStatement(
            "c", "t", "i", {0: start}, {0: end}, {"a": {0: Tally.of_range(start, end)}}, counts=Counts(read=end - start)
        )

    first = step(10, 20).after(None)
    second = step(20, 25).after(first)
    assert second.origin == {0: 10}
    assert second.totals == {"a": {0: Tally.of_range(10, 25)}}
    assert second.total_counts.read == 15
