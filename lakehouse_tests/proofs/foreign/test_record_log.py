"""A real topic, as the proofs see it."""

import pytest

from lakehouse.engines.kafka import Record, TopicMissing, send
from lakehouse.engines.kafka.second_look import OffsetGap
from lakehouse.engines.kafka.topics import PartitionRange
from lakehouse.proofs.foreign.record_log import RecordLog
from lakehouse.settings import KafkaSettings
from lakehouse_tests.fixtures.broker import TopicFactory

pytestmark = pytest.mark.kafka


def test_a_real_topic(broker: KafkaSettings, topic: TopicFactory) -> None:
    name = topic(config={"cleanup.policy": "compact"})
    send(broker, name, [Record(b"%d" % n, key=b"%d" % n) for n in range(3)])
    log = RecordLog.of(broker, name)
    assert log.partitions == {0: PartitionRange(0, 3)}
    assert log.compacted
    assert [batch.offsets.tolist() for batch in log.read([OffsetGap(0, 1, 3)])] == [[1, 2]]
    assert log.end(0) == 3
    with pytest.raises(TopicMissing):
        RecordLog.of(broker, "no-such-topic")
