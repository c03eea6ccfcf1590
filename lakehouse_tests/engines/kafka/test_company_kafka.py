"""The Kafka of a company: one broker with TLS, every login of docs/how-to/company-kafka.md, and access lists.

Both clients log in from one file of `conf/kafka/`. A wrong login is one line and exit code 2, and nothing secret is
shown.
"""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from confluent_kafka import ConsumerGroupTopicPartitions
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from lakehouse.cli import app
from lakehouse.engines.kafka import (
    KafkaForbidden,
    Record,
    create_topic,
    read_topic,
    sample_record_bytes,
    send,
    spark_options,
)
from lakehouse.engines.kafka.connection import Connection
from lakehouse.engines.kafka.group_positions import set_group_offsets
from lakehouse.engines.kafka.security import msk_iam
from lakehouse.engines.kafka.topics import TopicState
from lakehouse.settings import KafkaSettings, load_settings
from lakehouse.settings.models import MskIamSettings
from lakehouse.steps.ingest.position_mirror import mirror_position
from lakehouse_tests.fixtures.broker import state_with_jars
from lakehouse_tests.fixtures.certificates import Authority
from lakehouse_tests.fixtures.environ import clean_environ
from lakehouse_tests.fixtures.secured_broker import PASSWORD, PREFIX, TOPIC, USER, SecuredBroker, secured_broker
from lakehouse_tests.fixtures.spark import CONF, free_port

pytestmark = [pytest.mark.kafka, pytest.mark.slow]
WRONG = "wrong-hunter2"
# One file a login, as the page has them.
FILES = {
    "plain": """
        security.protocol: SASL_SSL
        ssl.ca.location: {folder}/ca.pem
        sasl.mechanisms: PLAIN
        sasl.username: ada
        sasl.password: ${{env:KAFKA_SECRET}}
    """,
    "scram": """
        security.protocol: SASL_SSL
        ssl.ca.location: {folder}/ca.pem
        sasl.mechanisms: SCRAM-SHA-512
        sasl.username: ada
        sasl.password: ${{env:KAFKA_SECRET}}
    """,
    "oidc": """
        security.protocol: SASL_SSL
        ssl.ca.location: {folder}/ca.pem
        sasl.mechanisms: OAUTHBEARER
        sasl.oauthbearer.method: oidc
        sasl.oauthbearer.client.id: ada
        sasl.oauthbearer.client.secret: ${{env:KAFKA_SECRET}}
        sasl.oauthbearer.token.endpoint.url: {tokens}
        https.ca.location: {folder}/ca.pem
    """,
    "mtls": """
        security.protocol: SSL
        ssl.ca.location: {folder}/ca.pem
        ssl.certificate.location: {folder}/{certificate}.pem
        ssl.key.location: {folder}/{certificate}.key
    """,
}


@pytest.fixture(scope="module")
def company(tmp_path_factory: pytest.TempPathFactory, jars: Path) -> Iterator[SecuredBroker]:
    """The broker; one for the module."""
    with secured_broker(tmp_path_factory.mktemp("company"), jars) as broker:
        stranger = broker.folder / "stranger"
        stranger.mkdir()
        Authority(stranger).issue(USER)
        yield broker


def write_conf(folder: Path, company: SecuredBroker, login: str, *, certificate: str = USER) -> Path:
    """A project's `conf/` whose Kafka is the company's."""
    servers = company.certificates if login == "mtls" else company.sasl
    text = FILES[login].format(folder=company.folder, tokens=company.tokens.url, certificate=certificate)
    files = {
        "lakehouse.yaml": "kafka: company\ndemo: false\nhome: state\n",
        "platforms/local.yaml": "mode: classic\nmaster: local[2]\n",
        "catalogs/local.yaml": "type: sql\nuri: sqlite:///${home}/catalog.db\nwarehouse: file://${home}/warehouse\n",
        "kafka/company.yaml": f"bootstrap_servers: {servers}\ngroup_prefix: {PREFIX}\nproperties:{text}",
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


def settings_of(folder: Path, company: SecuredBroker, login: str) -> KafkaSettings:
    return load_settings(write_conf(folder, company, login), {}).kafka


@pytest.mark.spark
@pytest.mark.parametrize("login", FILES)
def test_both_clients_log_in_from_one_file(
    login: str, company: SecuredBroker, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_SECRET", PASSWORD)
    kafka = settings_of(tmp_path, company, login)
    before = sum(span.last_stable for span in read_topic(kafka, TOPIC).partitions.values())
    assert send(kafka, TOPIC, [Record(b"x" * 10)] * 8) == 8
    assert sample_record_bytes(kafka, TOPIC, {0: 0, 1: 0}) == 10.0
    frame = spark.read.format("kafka").options(**spark_options(kafka)).option("subscribe", TOPIC).load()
    assert frame.count() == before + 8


@pytest.mark.parametrize("login", FILES)
def test_a_wrong_login_is_one_line_and_shows_nothing(
    login: str, company: SecuredBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_SECRET", WRONG)
    conf = write_conf(tmp_path, company, login, certificate="stranger/ada")
    messages = tmp_path / "messages.jsonl"
    messages.write_text("{}\n")
    result = CliRunner().invoke(app, ["--conf", str(conf), "produce", TOPIC, "--file", str(messages), "--unread"])
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert "does not let us in: " in line
    assert "Remedy: correct the login in the chosen file of conf/kafka" in line
    assert WRONG not in line
    assert "PRIVATE KEY" not in line


def test_what_the_access_lists_do_not_allow_is_named(
    company: SecuredBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_SECRET", PASSWORD)
    kafka = settings_of(tmp_path, company, "scram")
    create_topic(company.inside, "secret-plans", 1)
    with pytest.raises(KafkaForbidden, match=r"about topic secret-plans: .*Remedy: allow our user Describe and Read"):
        read_topic(kafka, "secret-plans")
    other = kafka.model_copy(update={"group_prefix": "other-"})
    with pytest.raises(KafkaForbidden, match=r"Group authorization failed.* groups that begin with other-"):
        set_group_offsets(other, "other-orders", TOPIC, {0: 0})


def test_the_position_is_mirrored_into_a_group_or_it_is_said_why_not(
    company: SecuredBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_SECRET", PASSWORD)
    kafka = settings_of(tmp_path, company, "plain").model_copy(update={"mirror_positions": True})
    group = f"{PREFIX}orders"
    assert mirror_position(kafka, "orders", TopicState(TOPIC, "c", "i", {}), {0: 2, 1: 3}) == (group, "")
    with Connection(company.inside) as connection:
        asked = connection.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])
        offsets = {item.partition: item.offset for item in connection.answer(asked[group]).topic_partitions}
    assert offsets == {0: 2, 1: 3}
    refused = mirror_position(
        kafka.model_copy(update={"group_prefix": "other-"}), "orders", TopicState(TOPIC, "c", "i", {}), {0: 2}
    )
    assert refused is not None
    assert "GROUP_AUTHORIZATION_FAILED" in refused.problem


def test_tokens_of_a_callback_reach_every_client_and_are_renewed(
    company: SecuredBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As MSK IAM has them; this broker takes tokens of the test's own server in their place."""
    given: list[str] = []

    def make(_settings: MskIamSettings, region: str) -> tuple[str, float]:
        given.append(region)
        return company.tokens.token(USER), time.time() + 10  # good for longer than it says: the machine may be slow

    monkeypatch.setattr(msk_iam, "make_token", make)
    kafka = KafkaSettings(
        bootstrap_servers=company.sasl,
        group_prefix=PREFIX,
        msk_iam=MskIamSettings(region="eu-central-1"),
        properties={"ssl.ca.location": str(company.folder / "ca.pem")},
    )
    send(kafka, TOPIC, [Record(b"x")])
    assert sample_record_bytes(kafka, TOPIC, {0: 0, 1: 0}) > 0
    with Connection(kafka) as connection:
        connection.metadata()
        before, deadline = len(given), time.monotonic() + 60
        while len(given) == before and time.monotonic() < deadline:
            time.sleep(0.1)
            connection.metadata()
    assert len(given) > before, "a client that only asks gets no new token"


ORDERS = '''"""Orders."""

import pandera.pyspark as pa

from lakehouse import Stream, Table, ToTable


class Order(pa.DataFrameModel):
    """An order."""

    n: int


RAW = Table(name="raw.orders", schema=Order, description="Orders.", owner="me")
ORDERS = Stream(name="orders", topic="orders", route=ToTable(RAW.name), max_quarantine_share=1.0)
'''
PLANTED, LENT = "planted-hunter2", "planted-store-hunter2"
SHOWN = re.compile(rb'hush\\*("|&quot;|&#34;|%22)hush|planted-(store-)?hunter2')
CATALOG_SECRETS, STORE_SECRETS = ("credential", "header.Authorization"), ("s3.secret-access-key", "gcs.oauth2.token")


@pytest.mark.spark
def test_nothing_that_a_running_step_shows_holds_a_secret(company: SecuredBroker, jars: Path, tmp_path: Path) -> None:
    """Environment page, plans, arguments of all processes, logs, event log, task payloads, Dagster's metadata."""
    conf, out = write_conf(tmp_path / "conf", company, "scram"), tmp_path / "out"
    (out / "log").mkdir(parents=True)
    state_with_jars(conf / "state", jars)
    spark = {
        **CONF,
        "spark.ui.enabled": "true",
        "spark.ui.port": str(free_port()),
        "spark.log.level": "INFO",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": (out / "log").as_uri(),
    }
    (conf / "platforms" / "local.yaml").write_text(
        yaml.safe_dump({"mode": "classic", "master": "local[2]", "conf": spark})
    )
    catalog = yaml.safe_load((conf / "catalogs" / "local.yaml").read_text())
    catalog["properties"] = dict.fromkeys(CATALOG_SECRETS, "${env:PLANTED}") | dict.fromkeys(
        STORE_SECRETS, "${env:LENT}"
    )
    (conf / "catalogs" / "local.yaml").write_text(yaml.safe_dump(catalog))
    (conf / "declarations").mkdir()
    (conf / "declarations" / "orders.py").write_text(ORDERS)
    send(company.inside, TOPIC, [Record(b'{"n": 1}')] * 8)
    ran = subprocess.run(
        [sys.executable, "-m", "lakehouse_tests.engines.kafka.showing", str(conf), str(out)],
        env=clean_environ(KAFKA_SECRET=PASSWORD, PLANTED=PLANTED, LENT=LENT),
        capture_output=True,
        check=False,
        timeout=200,
    )
    (out / "logs").write_bytes(ran.stdout + ran.stderr)
    assert ran.returncode == 0, ran.stderr[-3000:].decode()
    report = json.loads(ran.stdout.splitlines()[-1])
    assert report["success"], ran.stderr[-3000:].decode()
    assert report["payloads"] > 0
    files = {str(file.relative_to(out)): file.read_bytes() for file in out.rglob("*") if file.is_file()}
    kinds = {name.split("/")[0] for name in files}
    assert {"pages", "arguments", "log", "logs", "events", "payloads"} <= kinds
    assert any(name.startswith("pages/SQL_execution") for name in files)
    assert any(b"spark.sql.catalog.lake.credential" in content for content in files.values()), "it would be shown"
    payloads = files.pop("payloads")
    assert {name: match[0] for name, content in files.items() if (match := SHOWN.search(content))} == {}
    # Files are written with keys of the store; the logins of catalog and Kafka reach no worker of ours.
    assert {match[0].decode() for match in SHOWN.finditer(payloads)} == {LENT}
