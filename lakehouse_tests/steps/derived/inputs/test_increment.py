"""What an incremental table may pass over: a retention of its changelog of which it had read everything."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.history import head_of
from lakehouse.steps.cdc.changelog_cleanup.checkpoint import make_checkpoint
from lakehouse.steps.derived.inputs.increment import Increment, next_increment
from lakehouse.steps.derived.inputs.inputs import Input
from lakehouse.steps.derived.refusals import HistoryLost
from lakehouse_tests.steps.cdc.followed import COPIED, followed_lake, read_up_to, retire
from lakehouse_tests.steps.cdc.mirrored import LOG, MirroredLake, change, insert, refusal

pytestmark = pytest.mark.slow


@pytest.fixture
def lake(tmp_path: Path) -> MirroredLake:
    return followed_lake(tmp_path)


def increment(lake: MirroredLake) -> Increment:
    changelog = lake.load(LOG)
    head = head_of(changelog)
    assert head is not None
    followed = Input("birds", LOG, changelog, head, dated=False, external=True, seal=None)
    return next_increment(COPIED.name, read_bases(lake.catalog, [COPIED.name])[COPIED.name], followed, rebuild=False)


def test_who_has_read_all_that_went_goes_on(lake: MirroredLake) -> None:
    read = lake.ingest(*(insert(n, n) for n in range(1, 5)))
    read_up_to(lake, read)
    lake.apply()
    make_checkpoint(lake.catalog, lake.tables)
    gone = retire(lake, timedelta(seconds=3))  # the file is written anew, without the first changes
    assert gone is not None
    assert gone.before == {0: 2}
    assert (increment(lake).start, increment(lake).appends) == (read, 0)
    lake.ingest(insert(5, 5))
    lake.apply()
    assert (increment(lake).start, increment(lake).appends) == (read, 1)
    make_checkpoint(lake.catalog, lake.tables)
    assert retire(lake) is not None
    assert (increment(lake).start, increment(lake).appends) == (read, 1)


def test_who_has_not_read_all_that_went_is_told(lake: MirroredLake) -> None:
    """As where a lease was given up, or an earlier version retired without regard to readers."""
    read_up_to(lake, lake.ingest(insert(1, 1)))
    lake.ingest(insert(2, 2))
    lake.apply()
    make_checkpoint(lake.catalog, lake.tables)
    assert retire(lake, followers=()) is not None
    with pytest.raises(HistoryLost, match=r"did more than append.*--rebuild") as lost:
        increment(lake)
    assert re.search(r"the \d changes that retention removed will not be in it", str(lost.value.remedy))


def test_what_was_reprocessed_after_the_reading_is_not_read_by_its_offsets(lake: MirroredLake) -> None:
    read = lake.ingest(insert(1, 1), refusal(b'{"id": 2}', b"broken"))
    lake.reprocess({(0, 1): change("insert", 2, 2, name="late")})
    lake.apply()
    make_checkpoint(lake.catalog, lake.tables)
    assert retire(lake, followers=()) is not None
    read_up_to(lake, read)
    with pytest.raises(HistoryLost, match="did more than append"):
        increment(lake)


def test_a_delete_of_somebody_else_is_none_of_ours(lake: MirroredLake) -> None:
    read_up_to(lake, lake.ingest(insert(1, 1), insert(2, 2)))
    lake.load(LOG).delete("_kafka_offset = 0")
    with pytest.raises(HistoryLost, match="did more than append"):
        increment(lake)
