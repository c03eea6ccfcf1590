"""pgbench's TPC-B through Debezium: mirrors are the source row by row, and a check names every row that is not.

Beside pgbench's transactions happens what people do to tables: keys change, tables are truncated, columns are added and
widened, values have another scale than was declared, or are no numbers. A change that does not fit its declaration goes
to quarantine; the rows that differ must then be those that the check `doubtful_keys` names, none more and none less.
Two limits of docs/why/mirrors.md ("What no mirror can know") leave rows that differ and that no check can name:
`UNKNOWABLE`.
"""

import time
from collections.abc import Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from lakehouse.settings import KafkaSettings
from lakehouse_tests.fixtures.debezium import Debezium, Source, StartDebezium
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.postgres import Postgres
from lakehouse_tests.fixtures.spark import SparkOn
from lakehouse_tests.steps.cdc.bank import Bank
from lakehouse_tests.steps.cdc.pgbench import ACCOUNTS, KEYS, Pgbench

pytestmark = [pytest.mark.kafka, pytest.mark.spark, pytest.mark.slow, pytest.mark.soak, pytest.mark.timeout(3600)]

SEED = 587392

# pgbench touches the accounts 1 to 400 and the tellers 1 to 10 at random: what else happens to them stays their value.
# The accounts from 2,000,000 on and the tellers from 11 on it leaves alone.
BEFORE = (
    "UPDATE pgbench_accounts SET rate = 12.34, free = 123.456, seen = '2024-02-29 12:34:56.789' WHERE aid <= 20",
    "UPDATE pgbench_accounts SET ratio = 'NaN' WHERE aid = 1",
    "UPDATE pgbench_accounts SET ratio = '-Infinity', seen_zone = '2024-02-29 12:34:56.789+02' WHERE aid = 2",
    "UPDATE pgbench_accounts SET seen = 'infinity' WHERE aid = 101",  # refused when it is read: missing from then on
)
KEYS_CHANGE = (
    "UPDATE pgbench_accounts SET aid = aid + 1000000 WHERE aid BETWEEN 30 AND 39",
    "UPDATE pgbench_accounts SET aid = 30 WHERE aid = 1000031",
    "UPDATE pgbench_tellers SET tid = 11 WHERE tid = 10",
    "DELETE FROM pgbench_accounts WHERE aid = 1000032",
)
TRUNCATED = (
    "TRUNCATE pgbench_tellers",
    "INSERT INTO pgbench_tellers (tid, bid, tbalance) SELECT n, 1, 0 FROM generate_series(1, 12) AS n",
)
KEYLESS = (
    "UPDATE pgbench_history SET filler = 'twice' WHERE delta > 4000",
    "INSERT INTO pgbench_history SELECT * FROM pgbench_history WHERE delta > 4500",  # equal rows
    "DELETE FROM pgbench_history WHERE delta < -4000",
)
ALTERED = (
    "ALTER TABLE pgbench_tellers ADD note text, ADD ranking bigint, ADD grade integer DEFAULT 7",
    "UPDATE pgbench_tellers SET note = 'late: \"' || tid || '\"', ranking = tid * 10000000000 WHERE tid <> 12",
    "ALTER TABLE pgbench_branches ALTER bbalance TYPE bigint",
    "ALTER TABLE pgbench_accounts ALTER rate TYPE numeric(14,4), ALTER abalance TYPE bigint, ALTER aid TYPE bigint",
    # What fits the declaration although its type does not: nothing is refused.
    "UPDATE pgbench_accounts SET rate = 38.3801, free = -1e-10, ratio = 'Infinity' WHERE aid = 3",
    "ALTER TABLE pgbench_accounts ALTER rate TYPE numeric(16,6)",
    "UPDATE pgbench_accounts SET free = 12345678901234567890.5, ratio = '-0', seen = NULL, rate = 7 WHERE aid = 4",
)
REFUSED = (
    "UPDATE pgbench_accounts SET rate = 38.380123 WHERE aid = 102",
    "UPDATE pgbench_accounts SET abalance = 3000000000 WHERE aid = 103",
    "UPDATE pgbench_accounts SET free = 1e-11 WHERE aid = 104",
    "UPDATE pgbench_accounts SET aid = 5000000000 WHERE aid = 105",  # of unknown key: it is no int
    "INSERT INTO pgbench_accounts (aid, abalance) VALUES (1000106, 3000000000)",
    # Refused, and healed by what comes after.
    "UPDATE pgbench_accounts SET abalance = 3000000000 WHERE aid IN (107, 108)",
    "UPDATE pgbench_accounts SET abalance = 107 WHERE aid = 107",
    "DELETE FROM pgbench_accounts WHERE aid = 108",
)
NO_NUMBERS_AS_NULL = (  # `precise`: a null, as far as anybody behind the connector can know
    "INSERT INTO pgbench_accounts (aid, rate, free) VALUES (2000001, 'NaN', 1), (2000002, 1, 1), (2000003, 'NaN', 1)",
    "UPDATE pgbench_accounts SET free = 'NaN' WHERE aid = 2000002",
)
NO_NUMBERS = (
    "UPDATE pgbench_accounts SET rate = 'NaN' WHERE aid = 5",
    "UPDATE pgbench_accounts SET free = 'NaN' WHERE aid = 6",
    "UPDATE pgbench_accounts SET free = '-Infinity', ratio = 'NaN' WHERE aid = 7",
    "UPDATE pgbench_accounts SET rate = 7.1234, free = 38.3801 WHERE aid = 8",
    "UPDATE pgbench_accounts SET abalance = 1 WHERE aid = 2000003",  # sends its NaN again, as text
)
HEALED = (
    "UPDATE pgbench_accounts SET rate = 1, free = 1, seen = '2024-02-29 12:34:56.789' WHERE aid IN (101, 102, 104)",
    "DELETE FROM pgbench_accounts WHERE aid = 5",
    "UPDATE pgbench_accounts SET aid = 2000006, rate = 1, free = 1 WHERE aid = 6",
    "UPDATE pgbench_accounts SET free = NULL WHERE aid = 7",
    "UPDATE pgbench_accounts SET rate = 1, free = 1 WHERE aid IN (2000001, 2000002, 2000003)",
    "UPDATE pgbench_tellers SET tbalance = 1 WHERE tid = 12",  # its new columns are sent with it
)
DOUBTFUL_FIRST = {101, 102, 103, 104, 5_000_000_000, 1_000_106}
# Widened columns took 103, 1000106 and 5000000000; decimals as text made 5, 6, 7 and 2000003 known.
DOUBTFUL_LATER = {101, 102, 104, 5, 6, 7, 2_000_003}
UNKNOWABLE_FIRST = {"accounts": {2_000_001, 2_000_002, 2_000_003}}
UNKNOWABLE_LATER = {"accounts": {2_000_001, 2_000_002}, "tellers": {12}}


@dataclass(frozen=True)
class Size:
    """How much happens.

    Attributes:
        prefix: of the topics, and the schema at the source.
        accounts: of the one branch.
        transactions: of each of the runs of pgbench.
        kills: how often the connector is killed in the middle of a run, after the first comparison.
    """

    prefix: str
    accounts: int
    transactions: int
    kills: int


SHORT = Size("bank_short", accounts=400, transactions=100, kills=1)  # 700 transactions in all
LONG = Size("bank_long", accounts=ACCOUNTS, transactions=2_400, kills=3)  # 21,600


class Story:
    """What is compared after which step, and how long all took."""

    def __init__(self, bank: Bank, source: Pgbench) -> None:
        self._bank, self._source = bank, source
        self._messages = 0
        self._began = time.monotonic()

    def take_over(self) -> None:
        """All that is in Kafka, to changelogs and mirrors."""
        reports = self._bank.ingest()
        assert not any(report.lag for report in reports)
        self._messages += sum(sum(report.rows.values()) for report in reports)
        while any(report.behind for report in self._bank.mirror()):
            pass  # reprocessed changes have a run of their own; the sensor would start the next one

    def require(self, what: str, doubtful: Set[int], unknowable: dict[str, set[int]]) -> None:
        """Rows that differ are those that the check names and those that nobody can know; all else is proven."""
        print(f"{what}: {self._source.transactions:,} transactions, {self._messages:,} messages")
        differing = {name: self._bank.differing(self._source, name) for name in KEYS}
        proofs = {name: self._bank.proof(name) for name in KEYS}
        named = {name: self._bank.in_doubt(name, proof) for name, proof in proofs.items()}
        for name, proof in proofs.items():
            rows, refused = proof.fold.difference.compared, proof.doubt.refused
            print(f"  {name}: {rows:,} rows compared, {len(differing[name])} differ, {refused} changes refused")
            for key, difference in sorted(differing[name].items()):
                print(f"    {key}: {difference}; doubtful_keys: {named[name].get(key, 'cannot know')}")
        changelog, truth = self._bank.history(), self._bank.history_at_source(self._source)
        print(f"  history: {truth.total():,} rows compared with its changelog; {time.monotonic() - self._began:.0f} s")
        assert {name: set(keys) for name, keys in named.items() if keys} == ({"accounts": doubtful} if doubtful else {})
        for name, keys in differing.items():
            assert set(keys) - set(named[name]) == unknowable.get(name, set()), name
            assert set(named[name]) <= set(keys), name
            assert proofs[name].holds, proofs[name].findings
            assert not proofs[name].errors
        assert changelog == truth


def transact_while_killed(source: Pgbench, connector: Debezium, transactions: int) -> None:
    """Kill the connector when half of a run is done, and let the run end."""
    with ThreadPoolExecutor(1) as pool:
        before = len(source.rows("history", ["aid"]))
        run = pool.submit(source.transact, transactions, "-n")
        while not run.done() and len(source.rows("history", ["aid"])) < before + transactions // 2:
            time.sleep(0.01)
        connector.kill()
        run.result()


@pytest.mark.parametrize("size", [SHORT, LONG], ids=["short", "long"])
def test_every_row_is_the_sources_or_is_named(
    postgres: Postgres,
    broker: KafkaSettings,
    debezium: StartDebezium,
    sql_lake: Lake,
    spark_on: SparkOn,
    tmp_path: Path,
    size: Size,
) -> None:
    source = Pgbench(postgres, size.prefix, accounts=size.accounts, seed=SEED)
    source.execute(*BEFORE)
    source.transact(size.transactions)
    connector = debezium(Source(prefix=size.prefix, tables=source.tables, schemas=True))
    bank = Bank(size.prefix, tmp_path / "declarations", broker, sql_lake.settings, spark_on)
    story = Story(bank, source)
    source.transact(size.transactions)  # which truncates the history
    source.execute(*KEYS_CHANGE)
    source.transact(size.transactions, "-n")
    source.execute(*TRUNCATED, *KEYLESS, *NO_NUMBERS_AS_NULL)
    source.transact(size.transactions, "-n")
    source.execute(*ALTERED, *REFUSED)
    source.transact(size.transactions, "-n")
    connector.wait_until_caught_up()
    story.take_over()
    story.require("as declared at first", DOUBTFUL_FIRST, UNKNOWABLE_FIRST)

    # Decimals as text from now on, since Base64 knows no NaN; and the declarations as the tables were altered.
    for kill in range(1, size.kills + 1):
        transact_while_killed(source, connector, size.transactions)
        connector.source = replace(connector.source, decimals="string")
        source.execute(*(NO_NUMBERS if kill == 1 else ()))
        connector.start()
        connector.wait_until_caught_up()
        if kill == 1:
            bank.declare(extra=True)
            print(f"{bank.reprocess('accounts')} changes reprocessed")
        story.take_over()
        story.require(f"after kill {kill}", DOUBTFUL_LATER, UNKNOWABLE_LATER)

    source.execute(*HEALED)
    source.transact(size.transactions, "-n")
    connector.wait_until_caught_up()
    story.take_over()
    story.require("healed", set(), {})
