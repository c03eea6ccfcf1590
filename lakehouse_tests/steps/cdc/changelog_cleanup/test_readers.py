"""Nothing is retired that somebody has still to read, and whoever that is, is named with what to do."""

from pathlib import Path

import pytest

from lakehouse.protocol.leases.lease import Lease, release_lease, take_lease
from lakehouse.steps.cdc.changelog_cleanup.checkpoint import make_checkpoint
from lakehouse.steps.cdc.changelog_cleanup.readers import CannotRetire
from lakehouse.steps.cdc.changelog_cleanup.retire import find_retirable
from lakehouse_tests.steps.cdc.followed import COPIED, DAY, followed_lake, read_up_to, retire
from lakehouse_tests.steps.cdc.mirrored import BEGAN, LOG, MirroredLake, change, insert, refusal

pytestmark = pytest.mark.slow


@pytest.fixture
def lake(tmp_path: Path) -> MirroredLake:
    return followed_lake(tmp_path)


def prove(lake: MirroredLake) -> None:
    lake.apply()
    make_checkpoint(lake.catalog, lake.tables)


def offsets(lake: MirroredLake) -> list[int]:
    return sorted(row["_kafka_offset"] for row in lake.rows(LOG))


def test_what_an_incremental_table_has_not_read_stays(lake: MirroredLake) -> None:
    read_up_to(lake, lake.ingest(insert(1, 1), insert(2, 2)))
    newest = lake.ingest(insert(3, 3), insert(4, 4))
    prove(lake)
    retirable = find_retirable(
        lake.catalog, lake.log, lake.stream, [lake.tables], followers=[COPIED], now=BEGAN + 9 * DAY
    )
    assert retirable is not None
    assert (retirable.rows, retirable.behind) == (2, (COPIED.name,))
    retire(lake)
    assert offsets(lake) == [2, 3]
    with pytest.raises(CannotRetire, match=r"before mart\.copied reads it.*release changelog\.birds mart\.copied"):
        retire(lake)
    read_up_to(lake, newest)
    retire(lake)
    assert offsets(lake) == []


def test_what_was_given_up_goes(lake: MirroredLake) -> None:
    read = lake.ingest(insert(1, 1))
    read_up_to(lake, read)
    lake.ingest(insert(2, 2))
    prove(lake)
    release_lease(lake.catalog, lake.log.table.identifier, COPIED.name, give_up=read)
    retire(lake)
    assert offsets(lake) == []


def test_one_that_has_not_begun_needs_every_change(lake: MirroredLake) -> None:
    lake.ingest(insert(1, 1))
    prove(lake)
    with pytest.raises(CannotRetire, match=r"mart\.copied follows changelog\.birds and has read nothing"):
        retire(lake)
    lake.catalog.drop_table(COPIED.table.identifier)
    with pytest.raises(CannotRetire, match="has read nothing"):
        retire(lake)


def test_a_lease_of_somebody_who_is_not_declared_counts_as_well(lake: MirroredLake) -> None:
    read = lake.ingest(insert(1, 1))
    read_up_to(lake, lake.ingest(insert(2, 2)))
    changelog = lake.load(LOG)
    take_lease(lake.catalog, Lease(changelog.name(), str(changelog.metadata.table_uuid), "export", read))
    prove(lake)
    retire(lake)
    assert offsets(lake) == [1]
    with pytest.raises(CannotRetire, match="before export reads it"):
        retire(lake)


def test_what_was_reprocessed_after_the_reading_is_not_told_by_its_offsets(lake: MirroredLake) -> None:
    read_up_to(lake, lake.ingest(insert(1, 1), refusal(b'{"id": 2}', b"broken")))
    lake.reprocess({(0, 1): change("insert", 2, 2, name="late")})
    prove(lake)
    with pytest.raises(CannotRetire, match=r"reprocessed after what mart\.copied has read"):
        retire(lake)


def test_where_the_reading_is_not_listed_any_more_nobody_can_say(lake: MirroredLake) -> None:
    lake.ingest(insert(1, 1))
    read_up_to(lake, lake.load(LOG).metadata.snapshots[0].snapshot_id + 1)
    prove(lake)
    with pytest.raises(CannotRetire, match="not listed any more"):
        retire(lake)
