"""Which commits of a changelog may be passed over: those of retention, where all that went had been read."""

from pathlib import Path

import pytest

from lakehouse.proofs.audit.retirement import is_harmless, is_read_before, retirement_of, statement_then
from lakehouse.steps.cdc.changelog_cleanup.checkpoint import make_checkpoint
from lakehouse_tests.steps.cdc.followed import followed_lake, read_up_to, retire
from lakehouse_tests.steps.cdc.mirrored import LOG, insert

pytestmark = pytest.mark.slow


def test_a_retirement_is_harmless_to_who_has_read_all_that_went(tmp_path: Path) -> None:
    lake = followed_lake(tmp_path)
    first = lake.ingest(insert(1, 1), insert(2, 2, partition=1))
    second = lake.ingest(insert(3, 3))
    read_up_to(lake, second)
    lake.apply()
    make_checkpoint(lake.catalog, lake.tables)
    gone = retire(lake)
    assert gone is not None
    assert gone.before == {0: 2, 1: 1}
    changelog = lake.load(LOG)
    for snapshot in changelog.metadata.snapshots[-2:]:
        retirement = retirement_of(changelog, snapshot)
        assert retirement is not None
        assert retirement.before == gone.before
        assert is_harmless(changelog, snapshot, gone.before)
        assert is_harmless(changelog, snapshot, {0: 9, 1: 9})
        assert not is_harmless(changelog, snapshot, {0: 1, 1: 9})
        assert not is_harmless(changelog, snapshot, {})
        assert is_read_before(changelog, snapshot, second)
        assert not is_read_before(changelog, snapshot, first)
        assert not is_read_before(changelog, snapshot, 1)
    ingested = changelog.metadata.snapshot_by_id(second)
    assert ingested is not None
    assert not is_harmless(changelog, ingested, {0: 9, 1: 9})
    assert not is_read_before(changelog, ingested, second)


def test_what_a_snapshot_has_is_what_the_seal_below_it_says(tmp_path: Path) -> None:
    lake = followed_lake(tmp_path)
    first = lake.ingest(insert(1, 1))
    lake.ingest(insert(2, 2))
    changelog = lake.load(LOG)
    then = statement_then(changelog, first)
    assert then is not None
    assert then.end == {0: 1, 1: 0}
    assert statement_then(changelog, 1) is None
