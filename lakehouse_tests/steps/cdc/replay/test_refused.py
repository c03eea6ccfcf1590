"""A refused change is known by its place and its position: in a topic that was made anew, offsets come again."""

from pathlib import Path

import polars as pl
import pytest

from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.engines.kafka.topics import PartitionRange, TopicState
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.commit import publish, seal_branch
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.read_group import read_group
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.cdc.evidence import read_evidence
from lakehouse.steps.cdc.replay.refused import PLACE, POSITION, refused_changes, with_reasons, without_refused
from lakehouse.steps.cdc.verify.ordering import check_order
from lakehouse.steps.cdc.verify.verify import check_fold
from lakehouse.steps.ingest.repair.loss import plan_loss
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.steps.cdc.conftest import MakeMirror, Mirrored, upsert
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


def _begin_anew(things: Mirrored) -> None:
    """The topic was deleted and made again; a person accepts that, and its offsets begin at 0."""
    name, catalog = things.feed.log.name, things.feed.catalog
    base = read_bases(catalog, [name])[name]
    assert base.sealed
    previous = KafkaStatement.from_keys(base.sealed.seal.statement)
    assert previous
    topic = TopicState(previous.topic, previous.cluster_id, "another-topic-id", {0: PartitionRange(0, 3)})
    loss = plan_loss("things", previous, topic, new_epoch=True)
    attempt = Attempt(run_id="epoch", step="accept-loss:things")
    seal = Seal.of(attempt, loss.kind, statement=loss.statement.to_keys(), previous=base.sealed.seal)
    publish(catalog, [seal_branch(catalog, base, attempt, seal)])
    things.feed.offsets = {0: 0}


@pytest.mark.spark
def test_a_good_change_of_a_new_log_is_not_the_refused_one_of_the_old(mirrored: MakeMirror) -> None:
    things = mirrored()
    things.apply([upsert(1, 10, "insert", name="a"), upsert(1, 10, "insert", name="b"), upsert(2, 11, "insert")])
    assert len(things.quarantined()) == 1
    _begin_anew(things)
    things.apply([upsert(number, 95 + number, "insert", name="new") for number in (5, 6, 7)])
    assert sorted(things.rows()) == [1, 2, 5, 6, 7]
    fold = check_fold(things.feed.catalog, things.tables)
    assert fold.holds, fold.findings
    assert fold.refused == 1
    order = check_order(things.tables, read_evidence(things.feed.catalog, things.tables))
    assert order.refused == 1
