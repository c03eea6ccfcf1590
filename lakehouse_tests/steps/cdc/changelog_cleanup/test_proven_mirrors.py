"""A retirement goes by checkpoints: those that it has looked at must stand when the changes go."""

from datetime import timedelta
from pathlib import Path

import pytest

from lakehouse.declarations import Changelog
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.steps.cdc.changelog_cleanup.checkpoint import make_checkpoint
from lakehouse.steps.cdc.changelog_cleanup.retire import CannotRetire, Retirable, find_retirable, remove_retirable
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.steps.cdc.mirrored import BEGAN, BIRDS, LOG, ROW, MirroredLake, insert

_DAY = timedelta(days=1)
_ATTEMPT = Attempt(run_id="retention", step="retire:birds")


@pytest.fixture
def lake(tmp_path: Path) -> MirroredLake:
    log = Changelog(name=LOG, topic="birds", row=ROW, key=("id",), description="Birds.", owner="tests", retention=_DAY)
    made = MirroredLake(open_catalog(sql_settings(tmp_path)), log=log)
    made.ingest(insert(1, 1), insert(2, 2))
    made.apply()
    make_checkpoint(made.catalog, made.tables)
    return made


def _look(lake: MirroredLake) -> Retirable:
    now = BEGAN + _DAY + timedelta(seconds=100)
    retirable = find_retirable(lake.catalog, lake.log, lake.stream, [lake.tables], now=now)
    assert retirable is not None
    return retirable


def test_changes_stay_where_a_rebuild_came_between_look_and_removal(lake: MirroredLake) -> None:
    """The checkpoint went with the build before: what is to go would be in nothing that is proven."""
    retirable = _look(lake)
    lake.apply(build="anew")
    with pytest.raises(CannotRetire, match=f"{BIRDS} was rebuilt") as refused:
        remove_retirable(lake.catalog, lake.log, retirable, _ATTEMPT)
    assert f"lakehouse checkpoint {BIRDS}" in str(refused.value.remedy)
    assert len(lake.rows(LOG)) == 2


def test_a_checkpoint_that_is_gone_stands_for_nothing(lake: MirroredLake) -> None:
    retirable = _look(lake)
    lake.load(BIRDS).manage_snapshots().remove_tag(retirable.mirrors[0].checkpoint.tag).commit()
    with pytest.raises(CannotRetire, match="checkpoint"):
        remove_retirable(lake.catalog, lake.log, retirable, _ATTEMPT)


def test_a_mirror_that_only_went_on_is_no_reason_to_wait(lake: MirroredLake) -> None:
    retirable = _look(lake)
    lake.apply()
    assert remove_retirable(lake.catalog, lake.log, retirable, _ATTEMPT).rows == 2
