"""Duplicates and a compacted topic through kills and late records: the counts that were known beforehand, exactly.

The commands are a person's, in a project of their own. What is right is known to the test alone: how often it sent each
event, and the last value of each key.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakehouse.engines.kafka import Record, create_topic, send
from lakehouse.engines.kafka.records import OffsetGap, record_offsets
from lakehouse.engines.kafka.topics import read_topic
from lakehouse.proofs.audit import audit_stream
from lakehouse.protocol.catalog import open_catalog
from lakehouse.settings import KafkaSettings, Settings, load_settings
from lakehouse_tests.orchestration.assets.house import command, write_conf

pytestmark = [pytest.mark.soak, pytest.mark.spark, pytest.mark.kafka, pytest.mark.kill]

DECLARED = """
from datetime import timedelta
import pandera.pyspark as pa
from pyspark.sql.types import DecimalType, LongType, TimestampType
from lakehouse import Changelog, DropDuplicates, Flat, Mirror, Stream, Table, ToTable

class Click(pa.DataFrameModel):
    click: LongType = pa.Field(description="Number of the click")
    clicked_at: TimestampType = pa.Field(description="When")

class Price(pa.DataFrameModel):
    article: str = pa.Field(description="Number of the article")
    euro: DecimalType(10, 2) = pa.Field(description="What it costs")

clicks = Table(name="shop.clicks", schema=Click, description="Clicks.", owner="team:shop",
    duplicates=DropDuplicates(key=("click",), time="clicked_at", within=timedelta(hours=1)))
stream = Stream(name="clicks", topic="CLICKS", route=ToTable("shop.clicks"))
prices = Mirror(name="shop.prices", changelog=Changelog(name="changelog.prices", topic="PRICES", row=Price,
    key=("article",), description="Prices.", owner="team:shop", format=Flat.upserts(plain_key=True)))
"""
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
COMPACTING = {
    "cleanup.policy": "compact",
    "segment.ms": "100",
    "min.cleanable.dirty.ratio": "0.01",
    "delete.retention.ms": "0",
}
SEAMS = ("publish.before", "stage.between", "seal.before", "publish.after", "mirror.merged", "mirror.planned")


@dataclass
class Shop:
    """Two topics with two partitions, and what a reader is to see.

    Attributes:
        clicks: how often each click was sent.
        prices: the last value of each article that was not deleted.
    """

    conf: Path
    kafka: KafkaSettings
    topics: dict[str, str]
    chance: random.Random = field(default_factory=lambda: random.Random(17))
    clicks: dict[int, int] = field(default_factory=dict[int, int])
    prices: dict[str, str] = field(default_factory=dict[str, str])
    priced: int = 0

    @property
    def settings(self) -> Settings:
        return load_settings(self.conf, {})

    def trade(self) -> None:
        """Twenty clicks, new ones and ones of days ago, up to three times each; forty prices and deletions."""
        clicks = [self.chance.randrange(len(self.clicks) + 20) for _ in range(20)]
        sent = [click for click in clicks for _ in range(self.chance.randint(1, 3))]
        send(self.kafka, self.topics["CLICKS"], [self._click(click) for click in sent])
        send(self.kafka, self.topics["PRICES"], [self._price() for _ in range(40)])

    def _click(self, click: int) -> Record:
        self.clicks[click] = self.clicks.get(click, 0) + 1
        moment = BEGAN + timedelta(days=click, minutes=self.chance.randrange(50))
        value = json.dumps({"click": click, "clicked_at": moment.isoformat()})
        return Record(value.encode(), partition=self.chance.randrange(2))

    def _price(self) -> Record:
        number, euro = self.chance.randrange(15), f"{self.chance.randrange(10_000) / 100:.2f}"
        article, partition = f"A-{number}", number % 2
        self.priced += 1
        if self.chance.random() < 0.3:
            self.prices.pop(article, None)
            return Record(None, key=article.encode(), partition=partition)
        self.prices[article] = euro
        return Record(json.dumps({"euro": float(euro)}).encode(), key=article.encode(), partition=partition)

    def run(self) -> None:
        """As a person does."""
        command("run", environ={"LAKEHOUSE_CONF": str(self.conf), "COLUMNS": "200"})

    def run_and_die(self, seam: str) -> None:
        """The same in a process that ends there."""
        environ = {
            **os.environ,
            "LAKEHOUSE_CONF": str(self.conf),
            "LAKEHOUSE_FAILPOINTS": f"{seam}=kill",
        }
        words = [sys.executable, "-m", "lakehouse", "run"]
        done = subprocess.run(words, check=False, env=environ, capture_output=True, text=True, timeout=300)
        assert done.returncode == -signal.SIGKILL, done.stdout[-3000:] + done.stderr[-3000:]

    def wait_until_compacted(self) -> None:
        """A segment is cleaned when it is no longer the one that is written."""
        given_up = time.monotonic() + 120
        while time.monotonic() < given_up:
            send(self.kafka, self.topics["PRICES"], [self._price() for _ in range(2)])
            if self._kept() < self.priced / 2:
                return
            time.sleep(1)
        pytest.fail("the broker compacts nothing")

    def _kept(self) -> int:
        topic = self.topics["PRICES"]
        ends = read_topic(self.kafka, topic).partitions
        ranges = [OffsetGap(partition, known.earliest, known.last_stable) for partition, known in ends.items()]
        return sum(len(records.offsets) for records in record_offsets(self.kafka, topic, ranges))

    def balances(self) -> None:
        """Rows, counts and proofs are those that are right."""
        catalog = open_catalog(self.settings.catalog)
        clicks = catalog.load_table(("shop", "clicks")).scan().to_arrow()["click"].to_pylist()
        assert sorted(clicks) == sorted(self.clicks)
        proof = audit_stream(catalog, "clicks", ["shop.clicks", "quarantine.clicks"], scan=True)
        assert proof.holds, proof.findings
        assert (proof.read, proof.dropped) == (
            sum(self.clicks.values()),
            {"duplicate": sum(self.clicks.values()) - len(self.clicks)},
        )
        prices = catalog.load_table(("shop", "prices")).scan().to_arrow()
        last = {row["article"]: str(row["euro"]) for row in prices.to_pylist()}
        assert (last, len(prices)) == (self.prices, len(self.prices))
        command("audit", "--full", environ={"LAKEHOUSE_CONF": str(self.conf), "COLUMNS": "200"})


@pytest.fixture
def shop(tmp_path: Path, broker: KafkaSettings, jars: Path, connect_settings: Settings, spark: SparkSession) -> Shop:
    conf = write_conf(tmp_path, broker, jars)
    topics = {name: f"{name.lower()}-{tmp_path.name}" for name in ("CLICKS", "PRICES")}
    text = DECLARED
    for name, topic in topics.items():
        create_topic(broker, topic, 2, config=COMPACTING if name == "PRICES" else None)
        text = text.replace(name, topic)
    (conf / "declarations" / "shop.py").write_text(text)
    return Shop(conf, broker, topics)


@pytest.mark.timeout(1800)
def test_counts_are_exact_through_kills_and_late_records(shop: Shop) -> None:
    shop.trade()
    shop.run()
    shop.balances()
    for seam in SEAMS:
        shop.trade()
        shop.wait_until_compacted()
        shop.run_and_die(seam)
        shop.trade()
        shop.run()
        shop.balances()
