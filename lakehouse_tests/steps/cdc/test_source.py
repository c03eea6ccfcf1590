"""What a normaliser may rely on, against the real thing: PostgreSQL 15, Debezium 3.6, Kafka Connect 4.3.

The envelope of a change, in each message's value (below `payload` with schemas):

- `before`, `after`, `source`, `transaction` (null unless asked for), `op`, and when the connector saw it: `ts_ms`,
  `ts_us`, `ts_ns`. `op` is `r` (snapshot), `c`, `u`, `d`, `t` (truncate, which Debezium leaves out unless
  `skipped.operations=none`) or `m` (a logical message).
- `source` has `version`, `connector`, `name` (the topic prefix), `db`, `schema`, `table`, `txId`, `lsn`, `sequence`,
  `snapshot`, `ts_ms`/`ts_us`/`ts_ns` (of the *commit*; of the snapshot's beginning for `r`), and `xmin`, `origin`,
  `origin_lsn`, which are null. `snapshot` is text: `first`, `first_in_data_collection`, `true`,
  `last_in_data_collection`, `last`; `false` for what is streamed.

The order of changes:

- `sequence` is JSON in text, `["<commit>","<lsn>"]`: where the last transaction *before* this one committed, and
  where this change is in the log. As a pair of integers it is the order of commits, and within a transaction that of
  changes; `lsn` alone is not, because transactions interleave. The two may be equal.
- `commit` is null in all rows of a snapshot, and in the first transaction after one. All rows of a snapshot have the
  same `lsn`. A transaction that was open at the snapshot may carry a smaller one and is newer all the same.
- Two changes of one table have the same pair only if they are one message sent twice, the delete and the create of a
  key change, or rows of one COPY. So the pair and the key together are unique, up to redelivery. What a snapshot has
  read may share the pair with the first transaction after it.
- A worker that was killed goes on where its offsets were last kept, and may begin within a transaction. What it sends
  again is the same in key, images, `op` and `source`, `sequence` included. Different are `ts_*` of the envelope,
  the header `__debezium.context.runId`, and `total_order` where it began within a transaction.
- A worker that was killed before its offsets were kept for the first time takes its snapshot once more. Those rows have
  no `commit` and a newer `lsn` than changes that came before; and what was deleted meanwhile is told by nobody.

Forms of values, headers, transactions and heartbeats are in `test_recorded.py`, as facts about recorded messages.
"""

import json
import os
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

import pytest

from lakehouse.settings import KafkaSettings
from lakehouse_tests.fixtures.debezium import Source, StartDebezium
from lakehouse_tests.fixtures.postgres import Postgres
from lakehouse_tests.steps.cdc.messages import Message, read_topics
from lakehouse_tests.steps.cdc.oracle import Place, fold, place
from lakehouse_tests.steps.cdc.workload import Workload

pytestmark = [pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(600)]

SEED = int(os.environ.get("WORKLOAD_SEED", "587392"))  # there a row is deleted at the very place where it was read


def changes(messages: Iterable[Message], table: str = "") -> list[Message]:
    """Changes of the workload's tables, or of one, without tombstones."""
    return [
        m for m in messages if m.value and f".{table}" in m.topic and "source" in m.document and "marker" not in m.topic
    ]


def change(message: Message) -> tuple[object, ...]:
    """What is the same each time that a change is sent."""
    document = message.document
    old, new = message.header("__debezium.oldkey"), message.header("__debezium.newkey")
    return (
        message.topic,
        message.key,
        document["op"],
        json.dumps([document[k] for k in ("before", "after", "source")]),
        old,
        new,
    )


def assert_the_rows_come_out(workload: Workload, messages: list[Message]) -> None:
    truth = workload.truth()
    for name, table in workload.tables.items():
        rows = fold(table, changes(messages, name))
        assert [rows[key] for key in sorted(rows)] == truth[name]


@pytest.mark.soak
@pytest.mark.parametrize(
    "source",
    [
        Source(prefix="plain", tables=(), transactions=True, heartbeat_ms=1000, partitions=3),
        Source(prefix="schemas", tables=(), schemas=True, decimals="string"),
    ],
    ids=["plain", "schemas"],
)
def test_any_history_folds_to_the_truth_though_the_worker_is_killed(
    source: Source, postgres: Postgres, broker: KafkaSettings, debezium: StartDebezium
) -> None:
    with Workload(postgres, source.prefix, seed=SEED) as workload:
        workload.run(20)
        connector = debezium(replace(source, tables=workload.source_tables))
        workload.run(150)
        connector.wait_until_caught_up()
        workload.run(100)
        time.sleep(0.5)
        connector.kill()
        workload.add_column()
        workload.run(100)
        connector.start()
        connector.wait_until_caught_up()
        messages = list(read_topics(broker, source.prefix))
        assert_the_rows_come_out(workload, messages)

    captured = changes(messages)
    print(workload.counts, len(captured))
    assert {m.document["op"] for m in captured} >= {"r", "c", "u", "d"}
    assert_places_are_an_order(captured)


def assert_places_are_an_order(captured: list[Message]) -> None:
    sent: dict[tuple[bool, Place, str, str | None], set[object]] = defaultdict(set)
    commits: dict[int, set[int]] = defaultdict(set)
    transactions: dict[int, set[int]] = defaultdict(set)
    for message in captured:
        read = message.document["op"] == "r"
        sent[read, place(message), message.topic, message.key].add(change(message))
        if not read:
            commits[message.document["source"]["txId"]].add(place(message).commit)
            transactions[place(message).commit].add(message.document["source"]["txId"])
    # A place and a key belong to one change, however often it is sent.
    assert all(len(contents) == 1 for contents in sent.values())
    # A transaction has one commit before it, and shares it with no other.
    assert all(len(before) == 1 for before in commits.values())
    assert all(len(numbers) == 1 for numbers in transactions.values())


def test_the_order_is_that_of_commits_and_not_of_the_log(
    postgres: Postgres, broker: KafkaSettings, debezium: StartDebezium
) -> None:
    postgres.execute("CREATE TABLE public.turns (id int PRIMARY KEY, value text)")
    connector = debezium(Source(prefix="turns", tables=["public.turns"]))
    with postgres.connect(autocommit=False) as slow, postgres.connect(autocommit=False) as quick:
        slow.execute("INSERT INTO turns VALUES (1, 'slow')")
        quick.execute("INSERT INTO turns VALUES (2, 'quick')")
        slow.execute("INSERT INTO turns VALUES (3, 'slow')")
        quick.commit()
        slow.execute("UPDATE turns SET value = 'slow, after quick' WHERE id = 2")
        slow.commit()
    connector.wait_until_caught_up()
    connector.stop()
    postgres.execute("INSERT INTO turns VALUES (4, 'between')")
    connector.start()
    postgres.execute("INSERT INTO turns VALUES (5, 'after')")
    connector.wait_until_caught_up()
    captured = changes(read_topics(broker, "turns"), "turns")

    # After a clean stop nothing is sent twice.
    assert [m.key_document["id"] for m in captured] == [2, 1, 3, 2, 4, 5]
    places = [place(m) for m in captured]
    assert places == sorted(places)
    assert [p.lsn for p in places] != sorted(p.lsn for p in places)
    # There is no commit before the first transaction, and then always one.
    assert [json.loads(m.document["source"]["sequence"])[0] is None for m in captured] == [True] + [False] * 5


@pytest.mark.soak
def test_killed_before_its_offsets_were_kept_the_worker_takes_another_snapshot(
    postgres: Postgres, broker: KafkaSettings, debezium: StartDebezium
) -> None:
    postgres.execute("CREATE TABLE public.again (id int PRIMARY KEY, value text)")
    postgres.execute("INSERT INTO again VALUES (1, 'old'), (2, 'old'), (3, 'old')")
    connector = debezium(Source(prefix="again", tables=["public.again"], flush_ms=3_600_000))
    postgres.execute("UPDATE again SET value = 'sent' WHERE id < 3")
    postgres.execute("UPDATE again SET value = 'sent again' WHERE id < 3")
    wait_for(broker, "again", 7)
    connector.kill()
    postgres.execute("UPDATE again SET value = 'never sent as a change' WHERE id = 1")
    postgres.execute("DELETE FROM again WHERE id = 3")
    with postgres.connect(autocommit=False) as slow:
        slow.execute("UPDATE again SET value = 'written before the snapshot, committed after it' WHERE id = 2")
        connector.start()
        wait_for(broker, "again", 9)
        slow.commit()
    captured = wait_for(broker, "again", 10)

    assert [m.document["op"] for m in captured] == ["r"] * 3 + ["u"] * 4 + ["r"] * 2 + ["u"]
    update, read, newest = captured[3:7], sorted(captured[7:9], key=lambda m: str(m.key)), captured[9]
    # The newer snapshot's rows have no commit, but a newer position in the log than every change that came before.
    assert {place(m).commit for m in read} == {0}
    assert min(place(m).lsn for m in read) > max(place(m).lsn for m in update)
    assert read[0].document["after"] == {"id": 1, "value": "never sent as a change"}
    assert place(read[0]) < max(place(m) for m in update)  # so the pair alone would keep what is out of date
    # What was open at the snapshot is newer than it, without a commit either, and has an older position in the log.
    assert newest.document["after"]["value"] == "written before the snapshot, committed after it"
    assert place(newest) <= place(read[1])
    assert place(newest).commit == 0


def wait_for(broker: KafkaSettings, prefix: str, count: int) -> list[Message]:
    """The changes of a topic, once there are so many."""
    deadline = time.monotonic() + 30
    while len(captured := changes(read_topics(broker, prefix), prefix)) < count:
        assert time.monotonic() < deadline, f"{len(captured)} changes instead of {count}"
        time.sleep(0.2)
    return captured
