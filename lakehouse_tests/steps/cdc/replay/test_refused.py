"""A refused change is known by its place and its position: in a topic that was made anew, offsets come again."""

from pathlib import Path

import polars as pl
import pytest

from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.seals.read_group import read_group
from lakehouse.steps.cdc.evidence import read_evidence
from lakehouse.steps.cdc.replay.refused import PLACE, POSITION, refused_changes, with_reasons, without_refused
from lakehouse.steps.cdc.verify.counters import check_balance
from lakehouse.steps.cdc.verify.ordering import check_order
from lakehouse.steps.cdc.verify.verify import check_fold
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.steps.cdc.conftest import MakeMirror, upsert
from lakehouse_tests.steps.cdc.mirrored import REFUSED, MirroredLake, insert

COLUMNS = [*PLACE, *POSITION]
REFUSALS = pl.DataFrame(
    [("t", 0, 1, 0, 10, 0, "contradiction"), ("t", 0, 1, 0, 90, 0, "too_late"), ("t", 0, 5, 0, 20, 0, "too_late")],
    schema=[*COLUMNS, "_reason"],
    orient="row",
)


@pytest.mark.parametrize(
    ("place", "position", "reason"),
    [
        ((0, 1), 10, "contradiction"),
        ((0, 1), 90, "too_late"),
        ((0, 1), 100, None),
        ((0, 5), None, "too_late"),
        ((0, 6), None, None),
        ((1, 5), 20, None),
    ],
)
def test_a_change_at_the_place_of_a_refused_one(
    place: tuple[int, int], position: int | None, reason: str | None
) -> None:
    parts = (None, None, None) if position is None else (0, position, 0)
    types = {"_topic": pl.String(), **dict.fromkeys(COLUMNS[1:], pl.Int64())}
    changes = pl.DataFrame([("t", *place, *parts)], schema=types, orient="row")
    assert with_reasons(changes, REFUSALS)["_reason"].to_list() == [reason]
    assert without_refused(changes, REFUSALS).height == (reason is None)


@pytest.mark.slow
def test_what_one_build_refused_is_read_with_its_position(tmp_path: Path) -> None:
    lake = MirroredLake(open_catalog(sql_settings(tmp_path)))
    lake.ingest(insert(1, 1), contradiction := insert(1, 1, name="b"))
    lake.apply(contradiction)
    quarantine = read_group(lake.catalog, [REFUSED])[REFUSED]
    evidence = read_evidence(lake.catalog, lake.tables)
    assert evidence.newest is not None
    rows = refused_changes(quarantine, evidence.newest.statement.build)
    assert sorted(rows.select(COLUMNS).rows())[-1] == ("birds", 0, 1, 0, 1, 0)
    assert refused_changes(quarantine, "another").is_empty()


@pytest.mark.spark
def test_a_good_change_of_a_new_log_is_not_the_refused_one_of_the_old(mirrored: MakeMirror) -> None:
    things = mirrored()
    things.apply([upsert(1, 10, "insert", name="a"), upsert(1, 10, "insert", name="b"), upsert(2, 11, "insert")])
    assert len(things.quarantined()) == 1
    things.feed.begin_anew()
    things.apply([upsert(number, 95 + number, "insert", name="new") for number in (5, 6, 7)])
    assert sorted(things.rows()) == [1, 2, 5, 6, 7]
    fold = check_fold(things.feed.catalog, things.tables)
    assert fold.holds, fold.findings
    assert fold.refused == 1
    order = check_order(things.tables, read_evidence(things.feed.catalog, things.tables))
    assert order.refused == 1
    assert check_balance(things.tables, read_evidence(things.feed.catalog, things.tables)).holds


@pytest.mark.soak
@pytest.mark.spark
def test_a_mirror_of_two_logs_is_rebuilt(mirrored: MakeMirror) -> None:
    things = mirrored()
    things.apply([upsert(1, 10, "insert", name="a"), upsert(2, 11, "insert", name="b")])
    things.feed.begin_anew()
    things.apply([upsert(2, 95, name="c"), upsert(3, 96, "insert", name="d")])
    before = things.rows()
    things.run(rebuild=True)
    assert things.rows() == before
    fold = check_fold(things.feed.catalog, things.tables)
    assert fold.holds, fold.findings
    balance = check_balance(things.tables, read_evidence(things.feed.catalog, things.tables))
    assert balance.holds, balance.findings
