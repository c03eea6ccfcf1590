"""Before anything is published, what left a quarantine is compared with what was chosen."""

import numpy as np
import pytest

from lakehouse.declarations import Stream, ToTable
from lakehouse.engines.kafka.several_topics.topic_numbers import TopicNumbers
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.commit import seal_branch
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.ingest.repair.leaving_rows import delete_rows, require_left
from lakehouse.steps.ingest.repair.refused_records import RecordOffsets
from lakehouse.steps.ingest.sealing.staged_audit import StagedRowsDiffer
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.steps.ingest.conftest import THINGS
from lakehouse_tests.steps.ingest.in_process import InProcess

NAME = "quarantine.things"


def test_other_rows_than_the_chosen_ones_are_refused(sql_lake: Lake) -> None:
    declared = Stream(name="things", topic="things", route=ToTable("raw.things"), max_quarantine_share=1)
    things = InProcess(open_catalog(sql_lake.settings), declared)
    things.declare(declare(THINGS, name="raw.things").with_coordinates())
    things.ingest({0: [(None, b"broken")] * 4})
    base = read_bases(things.catalog, [NAME])[NAME]
    attempt = things.step("leave").attempt
    gone = RecordOffsets({0: np.array([1, 2])})
    delete_rows(things.catalog, base, attempt, gone, TopicNumbers((("things", "topic-id"),)))
    staged = [seal_branch(things.catalog, base, attempt, Seal.of(attempt, "leave", statement={}, previous=None))]
    require_left(things.catalog, base, staged, gone)
    for offsets in ([1], [1, 2, 3]):
        with pytest.raises(StagedRowsDiffer, match="partition 0 other rows than the chosen ones"):
            require_left(things.catalog, base, staged, RecordOffsets({0: np.array(offsets)}))
    assert things.quarantined() == [(0, 0), (0, 1), (0, 2), (0, 3)]
