"""What proves a mirror takes reprocessed changes into account: ranges, folds, checkpoints, retention."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from lakehouse.declarations import Changelog
from lakehouse.proofs.audit import audit_stream
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.steps.cdc.changelog_cleanup.checkpoint import make_checkpoint
from lakehouse.steps.cdc.changelog_cleanup.retire import CannotRetire, Retired, retire_changelog
from lakehouse.steps.cdc.evidence import read_evidence
from lakehouse.steps.cdc.fold.reprocessed_changes import mirrors_without_history
from lakehouse.steps.cdc.plan.range import Range, next_range
from lakehouse.steps.cdc.replay.consumed import CannotFold
from lakehouse.steps.cdc.stored_statement import newest_statement
from lakehouse.steps.cdc.verify.backlog import backlog
from lakehouse.steps.cdc.verify.counters import check_balance
from lakehouse.steps.cdc.verify.doubt import find_doubt
from lakehouse.steps.cdc.verify.verify import check_fold
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.steps.cdc.mirrored import BEGAN, BIRDS, LOG, ROW, MirroredLake, change, insert, refusal

DAY = timedelta(days=1)
BROKEN = refusal(b'{"id": 2}', b'{"op": "u", "after": {"id": 2}}')
LATE = change("update", 7, 2, name="late", song="new")


@pytest.fixture
def lake(tmp_path: Path) -> MirroredLake:
    """Six rows, a refused change of the second at offset 6, and another row; all applied."""
    log = Changelog(name=LOG, topic="birds", row=ROW, key=("id",), description="Birds.", owner="tests", retention=DAY)
    made = MirroredLake(open_catalog(sql_settings(tmp_path)), log=log)
    made.ingest(*(insert(n, n) for n in range(1, 7)), BROKEN, insert(8, 8))
    made.apply()
    return made


def left(lake: MirroredLake) -> Range | None:
    """What the mirror's next run takes."""
    statement = newest_statement(lake.load(BIRDS))
    assert statement is not None
    return next_range(BIRDS, statement, lake.load(LOG), max_changes=10**9)


def prove(lake: MirroredLake) -> None:
    """Stream and mirror, and no key in doubt."""
    streamed = audit_stream(lake.catalog, "birds", (LOG, lake.stream.quarantine_table))
    assert streamed.holds, streamed.findings
    fold = check_fold(lake.catalog, lake.tables)
    assert fold.holds, fold.findings
    balance = check_balance(lake.tables, read_evidence(lake.catalog, lake.tables))
    assert balance.holds, balance.findings
    doubt = find_doubt(lake.catalog, lake.tables, lake.declarations)
    assert doubt is not None
    assert doubt.count == 0


def test_reprocessed_changes_are_a_range_of_their_own(lake: MirroredLake) -> None:
    lake.ingest(insert(9, 9))
    lake.reprocess({(0, 6): LATE})
    lake.ingest(insert(10, 10))
    first = left(lake)
    assert first is not None
    assert (first.changes, first.behind, first.reprocessed) == (1, 2, False)
    statement = newest_statement(lake.load(BIRDS))
    assert statement is not None
    second = next_range(BIRDS, replace(statement, end=first.end), lake.load(LOG), max_changes=10**9)
    assert second is not None
    assert (second.changes, second.behind, second.reprocessed) == (1, 1, True)
    third = next_range(BIRDS, replace(statement, end=second.end), lake.load(LOG), max_changes=10**9)
    assert third is not None
    assert (third.changes, third.behind, third.reprocessed) == (1, 0, False)


def test_what_was_reprocessed_is_proven_with_all_the_rest(lake: MirroredLake) -> None:
    doubt = find_doubt(lake.catalog, lake.tables, lake.declarations)
    assert doubt is not None
    assert doubt.keys == 1
    lake.reprocess({(0, 6): LATE})
    assert backlog(read_evidence(lake.catalog, lake.tables)).waiting == 1
    lake.apply()
    assert backlog(read_evidence(lake.catalog, lake.tables)).waiting == 0
    assert {row["id"]: row["name"] for row in lake.rows()}[2] == "late"
    prove(lake)


def test_a_checkpoint_from_before_is_none_to_begin_with(lake: MirroredLake) -> None:
    make_checkpoint(lake.catalog, lake.tables)
    lake.reprocess({(0, 6): LATE})
    with pytest.raises(CannotRetire, match="reprocessed after the newest checkpoint"):
        retire(lake)
    lake.apply()
    with pytest.raises(CannotFold, match="no checkpoint"):
        check_fold(lake.catalog, lake.tables, begin="checkpoint")
    make_checkpoint(lake.catalog, lake.tables)
    retire(lake)
    proof = check_fold(lake.catalog, lake.tables)
    assert proof.holds, proof.findings
    assert proof.began.startswith("checkpoint")


def test_where_older_changes_are_gone_a_mirror_is_named(lake: MirroredLake) -> None:
    assert not mirrors_without_history(lake.catalog, lake.declarations, lake.stream)
    make_checkpoint(lake.catalog, lake.tables)
    retire(lake)
    (lost,) = mirrors_without_history(lake.catalog, lake.declarations, lake.stream)
    assert "keeps only the changes that its retention allows" in lost


def retire(lake: MirroredLake) -> Retired | None:
    """Everything that may go."""
    attempt = Attempt(run_id="retention", step="retire:birds")
    now = BEGAN + DAY + timedelta(seconds=100)
    return retire_changelog(lake.catalog, lake.log, lake.stream, [lake.tables], attempt, now=now)
