"""Rows that no seal accounts for become the baseline: counted, told in every audit, proven from there on."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlparse

import pytest

from lakehouse.declarations import Changelog, Expire
from lakehouse.engines.kafka.topics import PartitionRange, TopicState
from lakehouse.proofs.audit import audit_stream
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.steps.cdc.changelog_cleanup.checkpoint import make_checkpoint
from lakehouse.steps.cdc.changelog_cleanup.retire import retire_changelog
from lakehouse.steps.cdc.plan.range import whole_range
from lakehouse.steps.cdc.plan.reread_range import require_unretired
from lakehouse.steps.cdc.refusals import HistoryIncomplete
from lakehouse.steps.cdc.verify.audit import audit_mirror
from lakehouse.steps.ingest.refusals import (
    PositionBeyondEnd,
    RowsWithoutSeal,
    TableEmptied,
    TopicRecreated,
    UnsealedCommit,
)
from lakehouse.steps.ingest.repair import adoption as module
from lakehouse.steps.ingest.repair.adoption import Adoption, NothingToAdopt, adopt, find_adoption
from lakehouse.steps.ingest.repair.go_on import GoOnFrom
from lakehouse.steps.maintenance.expire.expire import expire
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.proofs.audit.conftest import Edit
from lakehouse_tests.proofs.audit.document import ancestry, edit_document
from lakehouse_tests.proofs.audit.simulated import A, B, SimulatedStream, to_a
from lakehouse_tests.steps.cdc.mirrored import BEGAN, LOG, ROW, MirroredLake, insert
from lakehouse_tests.steps.ingest.in_process import step_without_engines

pytestmark = pytest.mark.slow

ROWS, EARLIEST, LATEST = GoOnFrom.ROWS, GoOnFrom.EARLIEST, GoOnFrom.LATEST


@pytest.fixture
def edit(sql_lake: Lake) -> Edit:
    database = Path(urlparse(sql_lake.settings.uri or "").path)
    return lambda name, change: edit_document(database, name, change)


@pytest.fixture
def events(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> SimulatedStream:
    stream = SimulatedStream(open_catalog(sql_lake.settings))
    monkeypatch.setattr(module, "read_stream_topics", lambda kafka, declared, previous: stream.topic())
    return stream


def adopted(events: SimulatedStream, go_on_from: GoOnFrom = ROWS) -> Adoption:
    step = events.step("adopting")
    bases = read_bases(events.catalog, events.tables)
    adoption = find_adoption(step, bases, go_on_from)
    adopt(step, bases, adoption)
    return adoption


def goes_on(events: SimulatedStream, read: int) -> None:
    """The stream runs again, and the audit holds before and after, and says who adopted."""
    proof = events.audit()
    assert proof.holds, proof.findings
    events.ingest({})
    for scan in (False, True):
        proof = events.audit(scan=scan)
        assert proof.holds, proof.findings
    assert proof.read == read
    assert "rows adopted by run adopting, " in proof.proven_from


def test_rows_without_any_seal_and_the_stream_goes_on_after_them(events: SimulatedStream) -> None:
    events.append(A, [(0, o) for o in range(5)])
    events.append(B, [(0, 5), (1, 2)])
    events.ends = {0: 9, 1: 4}
    with pytest.raises(RowsWithoutSeal):
        events.ingest({})
    adoption = adopted(events)
    assert adoption.rows == {A: 5, B: 2, "quarantine.events": 0}
    assert adoption.unaccounted == {A: "rows without a seal", B: "rows without a seal"}
    assert (adoption.statement.end, adoption.repeated, adoption.read_again) == ({0: 6, 1: 3}, {}, {})
    goes_on(events, 7 + 3 + 1)


def test_an_append_after_the_last_seal(events: SimulatedStream) -> None:
    events.ingest({0: 10}, to_a)
    events.append(A, [(0, 3), (0, 99)])
    with pytest.raises(UnsealedCommit):
        events.ingest({0: 5}, to_a)
    adoption = adopted(events)
    assert adoption.statement.end == {0: 10, 1: 0}
    assert (adoption.repeated, adoption.read_again) == ({0: 1}, {0: 1})
    assert A in adoption.unaccounted
    goes_on(events, 12 + 5)


def test_damage_before_the_adoption_is_history_and_damage_after_it_is_found(events: SimulatedStream) -> None:
    events.ingest({0: 20}, to_a)
    events.load(A).delete("_kafka_offset = 7")
    adopted(events)
    goes_on(events, 19)
    events.ingest({0: 5}, to_a)
    events.load(A).delete("_kafka_offset = 8")
    proof = events.audit()
    (finding,) = [f for f in proof.findings if f.kind == "rows_differ"]
    assert (finding.table, finding.partition, finding.offsets) == (A, 0, "[0, 25)")
    assert [f.kind for f in proof.findings if f.kind == "unsealed_commit"] == ["unsealed_commit"]


def test_adopted_rows_that_lie_densely_without_being_each_offset_once(
    events: SimulatedStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bounds and count of the file would say 0 to 3; the scan at adoption knew better, and the audit looks again."""
    events = SimulatedStream(events.catalog, {"lakehouse.publish.keep-snapshots": "2"})
    events.append(A, [(0, 0), (0, 1), (0, 1), (0, 3)])
    events.ends = {0: 4, 1: 0}
    monkeypatch.setattr(module, "read_stream_topics", lambda kafka, declared, previous: events.topic())
    assert adopted(events).repeated == {0: 1}
    for _ in range(4):
        events.ingest({0: 3}, to_a)
    proof = events.audit()
    assert proof.holds, proof.findings
    assert proof.read == 16


@pytest.mark.parametrize(("go_on_from", "end", "again"), [(EARLIEST, {0: 2, 1: 0}, {0: 3}), (LATEST, {0: 9, 1: 4}, {})])
def test_an_end_of_the_log(
    events: SimulatedStream, go_on_from: GoOnFrom, end: dict[int, int], again: dict[int, int]
) -> None:
    events.append(A, [(0, o) for o in range(5)])
    events.ends, events.earliest = {0: 9, 1: 4}, {0: 2}
    adoption = adopted(events, go_on_from)
    assert (adoption.statement.end, adoption.read_again) == (end, again)
    goes_on(events, 5 + sum(events.ends.values()) - sum(end.values()))


def test_rows_beyond_the_log_are_refused(events: SimulatedStream) -> None:
    events.append(A, [(0, 50)])
    events.ends = {0: 9, 1: 4}
    with pytest.raises(PositionBeyondEnd, match=r"partition 0 offsets \[9, 51\)"):
        adopted(events)


def test_where_the_topic_is_another_one_the_sealed_position_is_no_use(events: SimulatedStream) -> None:
    events.ingest({0: 10}, to_a)
    events.append(A, [(0, 3)])
    events.topic_id = "another"
    with pytest.raises(TopicRecreated):
        adopted(events)
    adopted(events, EARLIEST)
    goes_on(events, 11 + 10)


def test_rows_are_rows_also_where_a_writer_keeps_no_total(events: SimulatedStream, edit: Edit) -> None:
    """`total-records` is optional in a snapshot's summary."""
    events.append(A, [(0, 1), (0, 2)])
    edit(A, lambda document: ancestry(document)[0]["summary"].pop("total-records"))
    with pytest.raises(RowsWithoutSeal, match=A):
        events.ingest({0: 20})
    assert "no_seal" in {finding.kind for finding in events.audit().findings}


def test_a_table_made_anew_is_not_taken_for_one_that_was_just_added(events: SimulatedStream) -> None:
    events.ingest({0: 20})
    events.catalog.drop_table(B)
    SimulatedStream(events.catalog)
    with pytest.raises(TableEmptied, match=r"seals account for 6 rows of raw\.b"):
        events.ingest({0: 5})
    assert not events.audit().holds
    assert adopted(events).unaccounted == {B: "no rows, where seals account for 6"}
    goes_on(events, 14 + 5)


def test_where_every_row_is_sealed_there_is_nothing_to_adopt(events: SimulatedStream) -> None:
    with pytest.raises(NothingToAdopt):
        adopted(events)
    events.ingest({0: 3})
    with pytest.raises(NothingToAdopt):
        adopted(events)


@pytest.fixture
def retired(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> MirroredLake:
    """A changelog of which retention has removed six of seven changes, with its mirror and a checkpoint."""
    day = timedelta(days=1)
    log = Changelog(name=LOG, topic="birds", row=ROW, key=("id",), description="Birds.", owner="tests", retention=day)
    lake = MirroredLake(open_catalog(sql_lake.settings), log=log)
    lake.ingest(*(insert(n, n) for n in range(1, 7)))
    lake.ingest(insert(9, 9))
    lake.apply()
    make_checkpoint(lake.catalog, lake.tables)
    attempt, now = Attempt(run_id="retention", step="retire:birds"), BEGAN + day + timedelta(seconds=7)
    gone = retire_changelog(lake.catalog, log, lake.stream, [lake.tables], attempt, now=now)
    assert gone is not None
    assert gone.rows == 6
    topic = TopicState("birds", "cluster", "topic-id", {0: PartitionRange(0, 7), 1: PartitionRange(0, 0)})
    monkeypatch.setattr(module, "read_stream_topics", lambda kafka, declared, previous: topic)
    return lake


def adopt_birds(lake: MirroredLake) -> Adoption:
    names = (LOG, lake.stream.quarantine_table)
    attempt = Attempt(run_id="adopting", step="adopt:birds")
    step = step_without_engines(lake.catalog, lake.stream, lake.declarations, attempt)
    bases = read_bases(lake.catalog, names)
    adoption = find_adoption(step, bases, ROWS)
    adopt(step, bases, adoption)
    proof = audit_stream(lake.catalog, "birds", names)
    assert proof.holds, proof.findings
    return adoption


def test_what_was_retired_stays_retired(retired: MirroredLake) -> None:
    """Else a new mirror would begin with what is left, and lack the rows that only older changes tell of."""
    changelog = retired.load(LOG)
    changelog.append(changelog.scan().to_arrow().slice(0, 0))
    adoption = adopt_birds(retired)
    assert adoption.rows[LOG] == 1
    assert adoption.statement.retired[LOG][0].count == 6
    assert adoption.statement.total_counts.read == 7
    whole = whole_range("mirror.new", retired.load(LOG))
    assert whole is not None
    with pytest.raises(HistoryIncomplete, match="retention removed 6 changes"):
        require_unretired("mirror.new", whole)


def test_a_mirror_of_a_retired_changelog_is_proven_from_its_checkpoint_after_an_adoption(retired: MirroredLake) -> None:
    changelog = retired.load(LOG)
    changelog.append(changelog.scan().to_arrow().slice(0, 0))
    adopt_birds(retired)
    for key in (11, 12):
        retired.ingest(insert(key, key))
        retired.apply()
        policy = Expire(min_snapshots_to_keep=2, max_snapshots=2, at_least=1)
        expire(retired.catalog, retired.declarations, LOG, policy)
    proof = audit_mirror(retired.catalog, retired.tables, retired.declarations)
    assert proof.holds, proof.findings
    assert proof.fold is not None
    assert "checkpoint" in proof.fold.began
    make_checkpoint(retired.catalog, retired.tables)


def test_what_was_retired_before_an_adoption_by_an_earlier_version_stays_retired(retired: MirroredLake) -> None:
    """That one left it out of its seal."""
    changelog = retired.load(LOG)
    changelog.append(changelog.scan().to_arrow().slice(0, 0))
    attempt = Attempt(run_id="former", step="adopt:birds")
    step = step_without_engines(retired.catalog, retired.stream, retired.declarations, attempt)
    bases = read_bases(retired.catalog, (LOG, retired.stream.quarantine_table))
    adoption = find_adoption(step, bases, ROWS)
    adopt(step, bases, replace(adoption, statement=replace(adoption.statement, retired={}, totals={})))
    whole = whole_range("mirror.new", retired.load(LOG))
    assert whole is not None
    assert whole.arrived.retired == {}
    with pytest.raises(HistoryIncomplete, match="retention removed 6 changes"):
        require_unretired("mirror.new", whole)
    changelog = retired.load(LOG)
    changelog.append(changelog.scan().to_arrow().slice(0, 0))
    assert adopt_birds(retired).statement.retired[LOG][0].count == 6


def test_an_adoption_forgets_no_table_that_was_taken_out_of_the_stream(events: SimulatedStream) -> None:
    events.ingest({0: 20})
    events.out = frozenset({B})
    events.append(A, [(0, 25)])
    events.ends[0] = 30
    adopted(events)
    assert events.audit().holds
    events.out = frozenset()
    goes_on(events, 21 + 10)


def test_a_changelog_that_was_rolled_back_to_before_its_retention_has_retired_nothing(retired: MirroredLake) -> None:
    """Each table's own seal says what it lacks; its sibling's still says that six went."""
    retired.roll_back(LOG)
    changelog = retired.load(LOG)
    changelog.append(changelog.scan().to_arrow().slice(0, 0))
    adoption = adopt_birds(retired)
    assert adoption.statement.retired == {}
    assert adoption.rows[LOG] == 7
