"""A stopped table is a failing check of the quarantine, which names it with the remedy."""

from pathlib import Path

import dagster as dg

from lakehouse.orchestration.checks.stream.stopped_tables import stopped_tables_result
from lakehouse.protocol.seals.read_group import read_group
from lakehouse_tests.steps.ingest.routes.test_blame import BROKEN_A, GOOD_B, send, stream_of

QUARANTINE = "quarantine.things"


def test_it_fails_until_the_table_goes_on(tmp_path: Path) -> None:
    stream = stream_of(tmp_path)

    def check() -> dg.AssetCheckResult:
        pinned = read_group(stream.catalog, [QUARANTINE])[QUARANTINE]
        return stopped_tables_result(pinned, "things", dg.AssetKey("quarantine"))

    assert check().passed
    send(stream, ("a", 1), *BROKEN_A, *GOOD_B)
    failed = check()
    assert not failed.passed
    assert "raw.a takes no records: 30 of 31 records for raw.a" in str(failed.description)
    assert "run `lakehouse reprocess things`" in str(failed.description)
    stream.reprocess()
    assert check().passed
