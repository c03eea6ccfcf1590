"""A topic that goes on is read on; one that became another while it was read is refused."""

import pytest

from lakehouse.steps.ingest.refusals import TopicRecreated
from lakehouse.steps.ingest.topic_identity import require_same_log, require_unchanged
from lakehouse_tests.steps.ingest.test_plan import plan, stored, topic


def test_a_log_that_has_grown_and_has_new_partitions_is_the_same() -> None:
    require_same_log("s", stored({0: 5}), topic({0: (2, 9), 1: (0, 3)}))


def test_a_topic_recreated_while_it_was_read_is_refused() -> None:
    planned = plan(None, topic({0: (0, 5)}))
    require_unchanged("s", planned.topic, planned.ranges, topic({0: (0, 7)}))
    with pytest.raises(TopicRecreated) as refused:
        require_unchanged("s", planned.topic, planned.ranges, topic({0: (0, 5)}, topic="other"))
    assert refused.value.ranges == {0: (0, 5)}
