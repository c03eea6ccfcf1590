"""accept-loss, adopt, replay and housekeep on a real topic, as a person calls them.

They are in docs/how-to/lost-range.md and docs/how-to/audit.md.
"""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from confluent_kafka import Producer
from typer.testing import CliRunner, Result

from lakehouse.cli import app
from lakehouse.engines.kafka import client_config
from lakehouse.protocol.commit import stage_files
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.steps.ingest.read.unreadable import OffsetsUnreadable
from lakehouse.steps.ingest.repair.adoption import GoOnFrom, adopt, find_adoption
from lakehouse.steps.ingest.repair.replay import ReplayResult, replay
from lakehouse_tests.steps.ingest.conftest import BY_KIND, Landing, MakeLanding, thing
from lakehouse_tests.steps.ingest.test_refusals import recreate, retire, write_by_hand

pytestmark = [pytest.mark.spark, pytest.mark.kafka]

DECLARATION = """
import pandera.pyspark as pa
from pyspark.sql.types import LongType
from lakehouse import Stream, Table, ToTable

class Things(pa.DataFrameModel):
    id: LongType
    text: str = pa.Field(nullable=True)

things = Table(name="raw.things", schema=Things, description="Things.", owner="tests")
stream = Stream(name="things", topic="{topic}", route=ToTable("raw.things"), max_quarantine_share=1.0)
"""


@pytest.fixture
def stream(landing: MakeLanding) -> Landing:
    """Five records, read, in a topic that takes any time as a record's."""
    made = landing(config={"message.timestamp.after.max.ms": str(2**63 - 1)})
    made.send([thing(n) for n in range(4)] + [b"broken"])
    made.ingest()
    return made


@pytest.fixture
def lakehouse(stream: Landing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Call `lakehouse <words>` on the same catalog and topic."""
    folder = tmp_path / "declared"
    folder.mkdir()
    (folder / "things.py").write_text(DECLARATION.format(topic=stream.stream.topic))
    monkeypatch.setenv("LAKEHOUSE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LAKEHOUSE_DECLARATIONS", os.fspath(folder))
    monkeypatch.setenv("LAKEHOUSE__KAFKA__BOOTSTRAP_SERVERS", stream.kafka.bootstrap_servers)
    monkeypatch.setenv("LAKEHOUSE__CATALOG__URI", stream.settings.uri)
    monkeypatch.setenv("LAKEHOUSE__CATALOG__WAREHOUSE", stream.settings.warehouse)
    return lambda *words: CliRunner().invoke(app, words, env={"COLUMNS": "200"})


def send_from_the_far_future(stream: Landing) -> None:
    """A good record, but for its time in Kafka, which Spark cannot tell in microseconds."""
    producer = Producer(client_config(stream.kafka))
    producer.produce(stream.stream.topic, json.dumps(thing(7)).encode(), partition=0, timestamp=2**62)
    assert producer.flush(30) == 0


def head(stream: Landing) -> int | None:
    return stream.load("raw.things").metadata.current_snapshot_id


def test_accept_loss_shows_first_and_seals_with_yes(stream: Landing, lakehouse: Callable[..., Result]) -> None:
    stream.send([thing(n) for n in range(5, 9)])
    retire(stream, 7)
    before = head(stream)
    shown = lakehouse("accept-loss", "things")
    assert shown.exit_code == 0, shown.output
    assert "[5, 7)" in shown.stdout
    assert "things gives up 2 offsets (RetentionOvertook)." in shown.stdout
    assert json.loads(lakehouse("accept-loss", "things", "--json").stdout) == {
        "stream": "things",
        "kind": "loss",
        "reason": "RetentionOvertook",
        "offsets": 2,
        "given_up": {"0": [[5, 7]]},
        "not_reached": {},
        "doubtful": {},
        "goes_on_at": {"0": 7},
        "done": False,
        "run_id": None,
        "snapshots": {},
    }
    assert "--yes" in shown.stdout
    assert head(stream) == before

    done = lakehouse("accept-loss", "things", "--yes")
    assert done.exit_code == 0, done.output
    assert "Sealed in 2 tables" in done.stdout
    stream.ingest()
    assert stream.column("raw.things", "id") == [0, 1, 2, 3, 7, 8]
    assert stream.holds().lost == 2
    audited = json.loads(lakehouse("audit", "things", "--json").stdout)
    assert (audited["holds"], audited["streams"][0]["lost"]) == (True, 2)
    assert lakehouse("accept-loss", "things", "--yes").exit_code == 2


def test_an_offset_that_cannot_be_read_is_named_and_given_up(stream: Landing, lakehouse: Callable[..., Result]) -> None:
    stream.send([thing(5), thing(6)])
    send_from_the_far_future(stream)
    stream.send([thing(8)])
    with pytest.raises(OffsetsUnreadable, match="partition 0 offset 7: ArithmeticException: long overflow") as failed:
        stream.ingest()
    command = "accept-loss things --offsets 0:7 --reason"
    assert command in failed.value.remedy
    report = failed.value.report
    assert report is not None
    assert (report.counts.read, report.lag) == (2, 2)
    assert stream.column("raw.things", "id") == [0, 1, 2, 3, 5, 6]
    assert stream.holds().position == {0: 7}
    with pytest.raises(OffsetsUnreadable, match="Nothing lies before that is not published yet"):
        stream.ingest()

    shown = lakehouse(*command.split(), "its timestamp overflows")
    assert shown.exit_code == 0, shown.output
    assert "[7, 8)" in shown.stdout
    assert "things gives up 1 offset (its timestamp overflows)." in shown.stdout
    assert stream.audit().lost == 0
    assert lakehouse(*command.split(), "", "--yes").exit_code == 2
    done = lakehouse(*command.split(), "its timestamp overflows", "--yes")
    assert done.exit_code == 0, done.output
    stream.ingest()
    assert stream.column("raw.things", "id") == [0, 1, 2, 3, 5, 6, 8]
    assert stream.holds().lost == 1
    audited = lakehouse("audit", "things")
    assert audited.exit_code == 0, audited.output
    assert "GIVEN UP partition 0 offsets [7, 8) by run cli-" in audited.stdout
    assert "its timestamp overflows" in audited.stdout
    refused = lakehouse(*command.split(), "once more", "--yes")
    assert (refused.exit_code, "begins before offset 9" in refused.stderr) == (2, True)


def test_a_topic_made_anew_needs_a_new_epoch(stream: Landing, lakehouse: Callable[..., Result]) -> None:
    recreate(stream)
    stream.send([thing(100), thing(101)])
    refused = lakehouse("accept-loss", "things", "--yes")
    assert (refused.exit_code, "--new-epoch" in refused.stderr) == (2, True)
    shown = lakehouse("accept-loss", "things", "--new-epoch")
    assert "In doubt and not counted: partition 0 offsets [0, 5)." in shown.stdout
    assert lakehouse("accept-loss", "things", "--new-epoch", "--yes").exit_code == 0
    stream.ingest()
    assert sorted(stream.column("raw.things", "id")) == [0, 1, 2, 3, 100, 101]
    assert stream.holds().read == 7


def test_a_copied_topic_goes_on_from_a_moment(stream: Landing, lakehouse: Callable[..., Result]) -> None:
    recreate(stream)
    producer, began = Producer(client_config(stream.kafka)), datetime(2026, 1, 1, tzinfo=UTC)
    for minute, number in enumerate([2, 3, 100, 101]):  # the copy has let go of the first ones, so offsets are others
        time = int((began + timedelta(minutes=minute)).timestamp() * 1000)
        producer.produce(stream.stream.topic, json.dumps(thing(number)).encode(), partition=0, timestamp=time)
    assert producer.flush(30) == 0
    for since in ("2026-01-01T00:02:00", "noon"):
        refused = lakehouse("accept-loss", "things", "--new-epoch", "--since", since)
        assert (refused.exit_code, "no moment with a time zone" in refused.stderr) == (2, True)
    assert lakehouse("accept-loss", "things", "--since", "2026-01-01T00:02:00Z").exit_code == 2
    command = ("accept-loss", "things", "--new-epoch", "--since", "2026-01-01T00:02:00Z")
    assert json.loads(lakehouse(*command, "--json").stdout)["goes_on_at"] == {"0": 2}
    assert lakehouse(*command, "--yes").exit_code == 0
    stream.ingest()
    assert sorted(stream.column("raw.things", "id")) == [0, 1, 2, 3, 100, 101]
    assert stream.holds().read == 7


def test_adopt_shows_first_and_seals_with_yes(stream: Landing, lakehouse: Callable[..., Result]) -> None:
    write_by_hand(stream, 3)
    assert lakehouse("audit", "things").exit_code == 1
    shown = lakehouse("adopt", "things", "--from", "rows")
    assert shown.exit_code == 0, shown.output
    assert "goes on at 0:5" in shown.stdout
    assert "1 rows repeat an offset" in shown.stdout
    assert lakehouse("audit", "things").exit_code == 1
    report = json.loads(lakehouse("adopt", "things", "--from", "rows", "--json").stdout)
    assert (report["goes_on_at"], report["repeated"], report["done"]) == ({"0": 5}, {"0": 1}, False)
    done = json.loads(lakehouse("adopt", "things", "--from", "rows", "--yes", "--json").stdout)
    assert (done["done"], done["snapshots"]["raw.things"]) == (True, head(stream))
    stream.send([thing(5)])
    stream.ingest()
    audited = lakehouse("audit", "things", "--json")
    assert audited.exit_code == 0
    assert "rows adopted by run cli-" in json.loads(audited.stdout)["streams"][0]["proven_from"]
    assert lakehouse("adopt", "things", "--from", "rows", "--yes").exit_code == 2


def test_housekeep_shows_first_and_removes_with_yes(stream: Landing, lakehouse: Callable[..., Result]) -> None:
    bases = read_bases(stream.catalog, ["raw.things"])
    files = [task.file for task in stream.load("raw.things").scan().plan_files()]
    dead = Attempt(run_id="dead", step="ingest:things")
    stage_files(stream.catalog, bases["raw.things"], dead, files)
    assert json.loads(lakehouse("housekeep", "--json").stdout) == []
    shown = lakehouse("housekeep", "--older-than", "0s")
    assert dead.branch in shown.stdout
    assert "--yes" in shown.stdout
    (swept,) = json.loads(lakehouse("housekeep", "--older-than", "0s", "--yes", "--json").stdout)
    assert (swept["branch"], swept["outcome"]) == (dead.branch, "removed")
    assert list(stream.load("raw.things").metadata.refs) == ["main"]
    assert stream.holds().read == 5
    assert lakehouse("housekeep", "--older-than", "0s").stdout == "Nothing was left behind.\n"
    assert lakehouse("housekeep", "--older-than", "soon").exit_code == 2


def test_errors_are_one_line_and_exit_code_2(stream: Landing, lakehouse: Callable[..., Result]) -> None:
    for words in (
        ("accept-loss", "nothing"),
        ("replay", "things", "--range", "0-5"),
        ("replay", "things", "--range", "0:0:99"),
        ("replay", "things", "--range", "0:3:3"),
    ):
        answer = lakehouse(*words)
        assert answer.exit_code == 2, answer.output
        assert answer.stderr.startswith("error: ")
        assert "Remedy: " in answer.stderr


def replayed(stream: Landing, start: int, end: int) -> dict[str, ReplayResult]:
    return {comparison.table: comparison for comparison in replay(stream.step(run_id="again"), {0: (start, end)})}


def test_a_replay_of_what_was_ingested_is_equal_and_leaves_nothing(stream: Landing) -> None:
    before = {name: stream.load(name).metadata.current_snapshot_id for name in stream.declarations.tables}
    comparisons = replayed(stream, 1, 5)
    assert {
        name: (comparison.stored, comparison.replayed, comparison.equal) for name, comparison in comparisons.items()
    } == {
        "raw.things": (3, 3, True),
        "quarantine.things": (1, 1, True),
    }
    for name, snapshot in before.items():
        table = stream.load(name)
        assert (table.metadata.current_snapshot_id, list(table.metadata.refs)) == (snapshot, ["main"])
    kept = replay(stream.step(), {0: (0, 2)}, keep=True)
    assert all(comparison.equal for comparison in kept)
    assert len(stream.load("raw.things").metadata.refs) == 2


def test_a_replay_names_rows_that_are_missing_extra_or_different(stream: Landing) -> None:
    table = stream.load("raw.things")
    table.delete("_kafka_offset = 1")
    changed = stream.load("raw.things").scan(row_filter="_kafka_offset = 2").to_arrow()
    changed = changed.set_column(1, changed.schema.field(1), [["forged"] * changed.num_rows])
    stream.load("raw.things").overwrite(changed, "_kafka_offset = 2")
    write_by_hand(stream, 3)
    write_by_hand(stream, 4)
    step = stream.step(run_id="adopting")
    bases = read_bases(stream.catalog, step.tables)
    adopt(step, bases, find_adoption(step, bases, GoOnFrom.ROWS))
    comparison = replayed(stream, 0, 5)["raw.things"]
    assert comparison.missing == [(0, 1)]
    assert comparison.extra == [(0, 3), (0, 4)]
    assert comparison.different[0, 2] == ["text"]


def test_replay_by_command_tells_by_its_exit_code(
    stream: Landing, lakehouse: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The process has one Spark driver, that of the tests.
    monkeypatch.setattr(
        "lakehouse.cli.commands.prove.replay.spark_session",
        lambda settings, app_name: stream.spark_on(settings.catalog),
    )
    equal = lakehouse("replay", "things", "--range", "0:0:2", "--range", "0:0:5")
    assert equal.exit_code == 2
    assert "partition 0 is named twice" in equal.stderr
    equal = lakehouse("replay", "things", "--range", "0:0:5", "--json")
    assert equal.exit_code == 0, equal.output
    assert [comparison["equal"] for comparison in json.loads(equal.stdout)["tables"]] == [True, True]
    declaration().write_text(
        DECLARATION.format(topic=stream.stream.topic).replace("id: LongType", "id: LongType = pa.Field(ge=2)")
    )
    different = lakehouse("replay", "things", "--range", "0:0:5")
    assert different.exit_code == 1, different.output
    assert "raw.things: partition 0 offset 1 should not be there, or not so often" in different.stdout
    assert "quarantine.things: partition 0 offset 1 is missing" in different.stdout


def declaration() -> Path:
    return Path(os.environ["LAKEHOUSE_DECLARATIONS"]) / "things.py"


def test_a_replay_with_another_declaration_shows_what_it_would_do(landing: MakeLanding) -> None:
    stream = landing(route=BY_KIND)
    stream.send([thing(1, kind="a"), thing(2, kind="b")])
    stream.ingest()
    other = replace(stream.stream, route=type(BY_KIND)("kind", {"a": "raw.b", "b": "raw.a"}))
    compared = {
        comparison.table: comparison for comparison in replay(replace(stream, stream=other).step(), {0: (0, 2)})
    }
    assert (compared["raw.a"].missing, compared["raw.a"].extra) == ([(0, 1)], [(0, 0)])
    assert (compared["raw.b"].missing, compared["raw.b"].extra) == ([(0, 0)], [(0, 1)])
