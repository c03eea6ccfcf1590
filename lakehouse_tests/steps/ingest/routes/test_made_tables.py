"""Tables that records name: made before the write, by the policy alone, in the same publish, and found by everybody."""

import json
from collections.abc import Sequence
from pathlib import Path
from threading import Barrier, Thread

import msgspec
import pandera.pyspark as pandera
import pyspark.sql.types as T  # noqa: N812

from lakehouse import seal_keys
from lakehouse.declarations import Declarations, Stream, ToNamed, apply, plan
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.seals.base import read_bases
from lakehouse.steps.ingest.routes.made_tables import make_tables_for, with_made_tables
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.steps.ingest.in_process import InProcess

LIKE = "events.any"
COLUMNS = {"id": pandera.Column(T.LongType(), nullable=False)}


def stream_of(folder: Path, **policy: object) -> InProcess:
    more = {"field": "tenant", "table": "events.{}", "namespaces": ("events",), **policy}
    route = ToNamed(like=LIKE, **more)  # type: ignore[arg-type]
    declared = Stream(name="things", topic="t", route=route, max_quarantine_share=1.0)
    made = InProcess(open_catalog(sql_settings(folder)), declared)
    made.declare(declare(dict(COLUMNS), LIKE).with_coordinates())
    return made


def send(stream: InProcess, *tenants: object) -> None:
    stream.ingest({0: [(None, json.dumps({"tenant": name, "id": n}).encode()) for n, name in enumerate(tenants)]})


def reasons(stream: InProcess) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in stream.rows("quarantine.things", "error_class", "error_message")]


def names(stream: InProcess) -> Sequence[str]:
    return sorted(".".join(name) for name in stream.catalog.list_tables("events"))


def test_a_table_that_records_name_is_made_and_changes_in_the_same_publish(tmp_path: Path) -> None:
    stream = stream_of(tmp_path)
    send(stream, "a", "b", "a", "any")
    assert {name: len(stream.rows(name)) for name in names(stream)} == {"events.a": 2, "events.b": 1, LIKE: 1}
    attempts = {b.sealed.seal.attempt for b in read_bases(stream.catalog, stream.tables).values() if b.sealed}
    assert len(attempts) == 1
    assert stream.tables == (LIKE, "events.a", "events.b", "quarantine.things")
    assert stream.holds().read == 4
    send(stream, "c")
    send(stream, "a")
    assert (len(stream.rows("events.a")), len(stream.rows("events.c"))) == (3, 1)
    assert stream.holds().read == 6


def test_whoever_has_the_catalog_knows_them(tmp_path: Path) -> None:
    stream = stream_of(tmp_path)
    declared = Declarations(dict(stream.declarations.tables), dict(stream.declarations.streams), {})
    send(stream, "a", "b")
    declarations = with_made_tables(declared, stream.catalog)
    assert declarations.streams["things"].tables == (LIKE, "events.a", "events.b")
    assert [column.name for column in declarations.tables["events.b"].own_columns] == ["id"]
    assert declarations.writer("events.a") is declarations.streams["things"]
    sealed = read_bases(stream.catalog, ["events.a"])["events.a"].sealed
    assert sealed is not None
    assert msgspec.json.decode(sealed.seal.statement[seal_keys.ROUTE_TABLES]) == ["events.a", "events.b"]
    stream.catalog.drop_table("quarantine.things")
    assert set(with_made_tables(declared, stream.catalog).tables) == set(declared.tables)


def test_what_breaks_the_policy_goes_to_quarantine_with_its_reason(tmp_path: Path) -> None:
    stream = stream_of(tmp_path, table="{}", names="t[0-9]+", most_tables=2)
    for name in ("events.t9", "events.mine"):
        apply(plan(declare(dict(COLUMNS), name).with_coordinates(), stream.catalog), stream.catalog)
    stream.load("events.t9").append(
        stream.load("events.t9")
        .scan()
        .to_arrow()
        .schema.empty_table()
        .from_pylist(
            [{"id": 1, "_kafka_topic": "x", "_kafka_partition": 0, "_kafka_offset": 0, "_kafka_timestamp": 0}],
            schema=stream.load("events.t9").scan().to_arrow().schema,
        )
    )
    send(stream, "events.t1", "x; drop", "other.t1", "events.u", "events.t9", None, "events.t2", "events.t2")
    assert [class_ for class_, _ in reasons(stream)] == [*["route_refused"] * 4, "unknown_route"]
    texts = [str(text) for _, text in reasons(stream)]
    assert "makes no name of a table" in texts[0]
    assert "outside events" in texts[1]
    assert "does not match `names`" in texts[2]
    assert "of this name is there, and not of this stream" in texts[3]
    assert "drop" not in "".join(texts)
    send(stream, "events.t3", "events.T1")
    assert "one table more than 2" in str(reasons(stream)[5][1])
    assert "does not match" in str(reasons(stream)[6][1])
    assert names(stream) == [LIKE, "events.mine", "events.t1", "events.t2", "events.t9"]
    assert stream.holds().read == 10


def test_names_that_differ_in_case_alone_are_one_table(tmp_path: Path) -> None:
    stream = stream_of(tmp_path, names="[A-Za-z]+")
    send(stream, "Ab", "Ab", "aB")
    assert names(stream) == ["events.Ab", LIKE]
    assert "but for the case" in str(reasons(stream)[0][1])
    stream.holds()


def test_a_run_that_died_after_it_made_a_table_and_one_at_the_same_time_do_no_harm(tmp_path: Path) -> None:
    stream = stream_of(tmp_path)
    barrier, outcomes = Barrier(4), list[object]()

    def make() -> None:
        barrier.wait()
        catalog = open_catalog(sql_settings(tmp_path))
        outcomes.append(make_tables_for(catalog, stream.stream, stream.declarations, {"events.a": 1, "events.b": 2}))

    threads = [Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [(outcome.made, outcome.refused) for outcome in outcomes] == [(("events.b", "events.a"), {})] * 4  # type: ignore[attr-defined]
    send(stream, "a")
    assert stream.tables == (LIKE, "events.a", "quarantine.things")
    assert stream.holds().read == 1


def test_a_made_table_that_is_gone_stops_alone(tmp_path: Path) -> None:
    stream = stream_of(tmp_path)
    send(stream, "a", "b")
    stream.catalog.drop_table("events.a")
    send(stream, "a", "b")
    assert len(stream.rows("events.b")) == 2
    assert [class_ for class_, _ in reasons(stream)] == ["table_stopped"]
    assert not stream.catalog.table_exists("events.a")
