"""What a sensor tells of runs that have ended."""

import dagster as dg
import pytest

from lakehouse.orchestration.automation.run_history import run_news
from lakehouse.protocol.journal import JournalPosition
from lakehouse.protocol.journal.event import nothing_known
from lakehouse_tests.orchestration.automation.marts import Mart

pytestmark = pytest.mark.slow


def test_a_run_of_chosen_assets_is_told_by_their_names(mart: Mart) -> None:
    asset, check = dg.AssetKey(["mart", "nests"]), dg.AssetCheckKey(dg.AssetKey(["mart", "nests"]), "enough")
    for chosen, checks in ((None, None), ([asset], None), ([], [check])):
        mart.instance.add_run(
            dg.DagsterRun(
                job_name="__ASSET_JOB",
                status=dg.DagsterRunStatus.CANCELED,
                asset_selection=None if chosen is None else frozenset(chosen),
                asset_check_selection=None if checks is None else frozenset(checks),
            )
        )
    events = run_news(mart.instance, JournalPosition(), nothing_known).events
    subjects = {event.message.partition(" ended")[0] for event in events}
    assert subjects == {"Run of all assets", "Run of mart.nests", "Run of checks of mart.nests"}
