"""Records what Debezium writes of a short story at the source: `python -m lakehouse_tests.steps.cdc.record`.

Three connectors watch the same commits: plain JSON, JSON with schemas, and decimals as text. Whatever a decoder has to
know should happen once in this story; its tests then read the recordings, and need no server.
"""

import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import psycopg

from lakehouse.engines.kafka import LocalBroker
from lakehouse.settings import load_settings
from lakehouse_tests.fixtures.broker import BROKER_LOCK, REPOSITORY, state_with_jars
from lakehouse_tests.fixtures.debezium import Debezium, Source
from lakehouse_tests.fixtures.postgres import Postgres
from lakehouse_tests.steps.cdc.messages import RECORDED, read_topics, save

TABLES = ("shop.orders", "shop.lines", "shop.kinds", "shop.prices")
SCHEMA = """
CREATE SCHEMA shop;
CREATE TABLE shop.orders (
    id bigint PRIMARY KEY, name text, amount numeric(12,2), rate numeric(38,10), ratio double precision, active boolean,
    day date, at timestamp, at_zone timestamptz, note text, payload bytea);
ALTER TABLE shop.orders ALTER note SET STORAGE EXTERNAL, ALTER payload SET STORAGE EXTERNAL;
CREATE TABLE shop.lines (
    order_id bigint, line int, sku text, quantity int, price numeric(12,2), PRIMARY KEY (order_id, line));
CREATE TABLE shop.kinds (
    id text PRIMARY KEY, number uuid, small smallint, single real, free numeric, whole numeric(20), clock time,
    clock_zone timetz, at_0 timestamp(0), at_3 timestamp(3), at_zone_0 timestamptz(0), doc jsonb, tags text[],
    numbers int[], days date[], amounts numeric(8,2)[], fixed char(4), span interval, bits bit(8), flag bit,
    price money, address inet);
CREATE TABLE shop.prices (price numeric(8,2), day date, code bytea, PRIMARY KEY (price, day, code));
ALTER TABLE shop.kinds REPLICA IDENTITY FULL;
"""
LARGE = "large, so out of line. " * 130
LARGE_BYTES = bytes(range(256)) * 10

BEFORE_SNAPSHOT = [
    "INSERT INTO shop.orders VALUES (1, 'first', 12.34, -1234567890123456789.0123456789, 0.1, true, '2024-02-29', "
    "'2024-02-29 12:34:56.789012', '2024-02-29 12:34:56.789012+02', %(large)s, '\\x0001ff')",
    "INSERT INTO shop.orders (id) VALUES (2)",
    "INSERT INTO shop.lines VALUES (1, 1, 'apple', 3, 1.50), (1, 2, 'pear', 1, 0)",
]
STORY = [
    # Each line is a transaction.
    "INSERT INTO shop.orders VALUES (3, 'Zoë \"quoted\" \\ 雪', 9999999999.99, "
    "9999999999999999999999999999.9999999999, 1e300, false, '1969-12-31', '1969-12-31 23:59:59.999999', "
    "'1969-12-31 23:59:59.999999+00', %(large)s, %(bytes)s)",
    "UPDATE shop.orders SET amount = -0.01 WHERE id = 1",
    "UPDATE shop.orders SET note = 'short again' WHERE id = 1",
    "UPDATE shop.orders SET name = NULL, note = NULL WHERE id = 3",
    "UPDATE shop.orders SET id = 30 WHERE id = 3",
    "UPDATE shop.lines SET line = line + 10 WHERE order_id = 1",
    "DELETE FROM shop.orders WHERE id = 2",
    "INSERT INTO shop.orders (id, amount, rate) VALUES (5, 0, 0), (6, 127.99, -1), (7, 1.28, 1)",
    "INSERT INTO shop.orders (id, ratio, day, at, at_zone) VALUES (10, 'NaN', 'infinity', 'infinity', 'infinity')",
    "INSERT INTO shop.orders (id, ratio, day, at, at_zone) VALUES (11, '-Infinity', '-infinity', '-infinity', "
    "'-infinity')",
    "INSERT INTO shop.orders (id, ratio, day, at, at_zone) VALUES (12, '-0', '0044-03-15 BC', '0044-03-15 12:00 BC', "
    "'0044-03-15 12:00+00 BC')",
    "INSERT INTO shop.orders (id, day, at, at_zone) VALUES (13, '1582-10-04', '1582-10-04 00:00:00.000001', "
    "'0001-01-01 00:00:00.5+00')",
    "INSERT INTO shop.orders (id, day, at, at_zone) VALUES (14, '9999-12-31', '9999-12-31 23:59:59.999999', "
    "'12024-01-01 00:00:00+00')",
    "INSERT INTO shop.kinds VALUES ('it''s \"a\" key, {x}', '00000000-0000-0000-0000-000000000001', 7, 1.5, 123.456, "
    "12345678901234567890, '12:34:56.789012', '12:34:56+02', '2024-02-29 12:34:56', '2024-02-29 12:34:56.789', "
    "'2024-02-29 12:34:56+02', '{\"a\": [1, null]}', '{a,NULL,b}', '{1,2}', '{2024-02-29}', '{1.50,2.25}', 'ab', "
    "'1 day 2 hours', B'10101010', B'1', 12.34, '127.0.0.1')",
    "INSERT INTO shop.kinds (id, free) VALUES ('nan', 'NaN')",
    "UPDATE shop.kinds SET small = 8 WHERE small = 7",
    "UPDATE shop.kinds SET id = 'another \"key\"' WHERE small = 8",
    "DELETE FROM shop.kinds WHERE small = 8",
    "INSERT INTO shop.prices VALUES (1.50, '2024-02-29', '\\x00ff')",
    "UPDATE shop.prices SET price = 300",
    "INSERT INTO shop.orders (id, amount) VALUES (15, 'NaN')",
    "TRUNCATE shop.lines",
    "INSERT INTO shop.lines VALUES (10, 1, 'after the truncate', 1, 1)",
    "TRUNCATE shop.lines, shop.kinds",
    "ALTER TABLE shop.orders ADD COLUMN extra text DEFAULT 'default'",
    "INSERT INTO shop.orders (id) VALUES (20)",
    "UPDATE shop.orders SET extra = 'written' WHERE id = 1",
    "ALTER TABLE shop.orders DROP COLUMN ratio, ALTER amount TYPE numeric(14,2)",
    "UPDATE shop.orders SET amount = 1 WHERE id = 20",
]
AFTER_LAST_FLUSH = [
    "UPDATE shop.orders SET name = 'sent twice' WHERE id = 1",
    "UPDATE shop.orders SET name = 'sent twice as well' WHERE id = 1",
    "DELETE FROM shop.orders WHERE id = 20",
]
PLAIN = Source(prefix="plain", tables=TABLES, transactions=True, heartbeat_ms=4000, flush_ms=6000)
SCHEMAS = Source(
    prefix="schema",
    tables=TABLES,
    schemas=True,
    transactions=True,
    heartbeat_ms=4000,
    options={
        "header.converter": "org.apache.kafka.connect.json.JsonConverter",
        "header.converter.schemas.enable": "true",
    },
)
STRINGS = Source(prefix="string", tables=TABLES, decimals="string", options={"time.precision.mode": "isostring"})


def tell(connection: psycopg.Connection, story: list[str]) -> None:
    """Run each statement in a transaction of its own."""
    for statement in story:
        connection.execute(statement.encode(), {"large": LARGE, "bytes": LARGE_BYTES})


def interleave(postgres: Postgres) -> None:
    """Two transactions: the one that wrote first commits last, and updates what the other has committed."""
    with postgres.connect(autocommit=False) as slow, postgres.connect(autocommit=False) as quick:
        slow.execute("INSERT INTO shop.orders (id, name) VALUES (100, 'slow')")
        quick.execute("INSERT INTO shop.orders (id, name) VALUES (101, 'quick')")
        quick.execute("INSERT INTO shop.lines VALUES (101, 1, 'quick', 1, 1)")
        slow.execute("INSERT INTO shop.lines VALUES (100, 1, 'slow', 1, 1)")
        quick.commit()
        slow.execute("UPDATE shop.orders SET name = 'slow again' WHERE id = 100")
        slow.execute("UPDATE shop.orders SET name = 'slow after quick' WHERE id = 101")
        slow.commit()


def copy(postgres: Postgres) -> None:
    """Rows that one record of the server's log holds together."""
    with postgres.connect() as connection, connection.cursor().copy("COPY shop.lines FROM STDIN") as rows:
        for line in range(3):
            rows.write_row((200, line, "copied", 1, 1))


def resend(connector: Debezium, postgres: Postgres) -> None:
    """Kill a connector after it has sent and before it has noted that it has."""
    with postgres.connect() as connection:
        tell(connection, AFTER_LAST_FLUSH)
    time.sleep(2)
    connector.kill()
    connector.start()
    connector.wait_until_caught_up()


def main() -> None:
    """Tell the story and write what became of it."""
    jars = load_settings(REPOSITORY / "conf").state.jars
    with tempfile.TemporaryDirectory() as folder, ExitStack() as running:
        broker = LocalBroker(state_with_jars(Path(folder) / "broker", jars), BROKER_LOCK)
        broker.start()
        running.callback(broker.stop)
        postgres = running.enter_context(Postgres())
        with postgres.connect() as connection:
            connection.execute(SCHEMA)
            tell(connection, BEFORE_SNAPSHOT)
        connectors = [
            running.enter_context(Debezium(Path(folder) / source.prefix, jars, broker.settings, postgres, source))
            for source in (PLAIN, SCHEMAS, STRINGS)
        ]
        interleave(postgres)
        copy(postgres)
        with postgres.connect() as connection:
            tell(connection, STORY)
        for connector in connectors:
            connector.wait_until_caught_up()
        resend(connectors[0], postgres)
        for source, name in ((PLAIN, ""), (SCHEMAS, "_schema"), (STRINGS, "_strings")):
            messages = [m for m in read_topics(broker.settings, source.prefix) if "connector_marker" not in m.topic]
            save(RECORDED / f"debezium_postgres{name}.jsonl", messages)
            print(f"{len(messages)} messages of {source.prefix}")


if __name__ == "__main__":
    main()
