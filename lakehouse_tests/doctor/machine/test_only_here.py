"""What is of this machine alone is wrong where Spark runs on others, and only there."""

from pathlib import Path

import pytest

from lakehouse.doctor.machine.only_here import is_loopback, only_here
from lakehouse.settings import CatalogSettings, KafkaSettings, Platform, Settings, load_settings
from lakehouse_tests.fixtures.spark import REPOSITORY

SQLITE = {"type": "sql", "uri": "sqlite:////nosuch/catalog.db", "warehouse": "s3://lake/w"}
REST = {"type": "rest", "uri": "http://127.0.0.1:8181/api/catalog", "warehouse": "lake"}
ELSEWHERE = {"type": "rest", "uri": "https://rest.example.com/api/catalog", "warehouse": "lake", "storage": "s3"}
FAR = KafkaSettings(bootstrap_servers="a.example.com:9092,b.example.com:9092")
SERVICES = ("kubernetes", "emr-serverless", "glue")


def settings_of(name: str | Platform, home: Path, catalog: dict[str, object] | None = None) -> Settings:
    chosen = {"LAKEHOUSE_PLATFORM": name if isinstance(name, str) else "local", "LAKEHOUSE_HOME": str(home)}
    settings = load_settings(REPOSITORY / "conf", chosen)
    update: dict[str, object] = {} if isinstance(name, str) else {"platform": name}
    if catalog is not None:
        update |= {"catalog": CatalogSettings.model_validate(catalog), "kafka": FAR}
    return settings.model_copy(update=update)


@pytest.mark.parametrize("name", SERVICES)
def test_the_lake_of_a_laptop_is_nothing_for_drivers_elsewhere(name: str, tmp_path: Path) -> None:
    findings = list(only_here(settings_of(name, tmp_path)))
    assert [(finding.check, finding.state) for finding in findings] == [
        ("kafka", "wrong"),
        ("catalog", "wrong"),
        ("catalog", "wrong"),
    ]
    assert all(name in finding.message and finding.remedy for finding in findings)
    words = ("127.0.0.1:19092", "a SQLite file", "is a folder")
    assert all(word in finding.message for word, finding in zip(words, findings, strict=True))


@pytest.mark.parametrize(
    ("catalog", "words"),
    [
        (SQLITE, ["a SQLite file"]),
        ({**SQLITE, "uri": "postgresql+psycopg://lake:hush@127.0.0.1:5432/lake"}, ["uri of the catalog: 127.0.0.1"]),
        (REST, ["uri of the catalog: 127.0.0.1"]),
        ({**ELSEWHERE, "endpoint": "http://[::1]:9000"}, ["(s3.endpoint): ::1"]),
        ({**ELSEWHERE, "properties": {"s3.endpoint": "http://localhost:9000"}}, ["(s3.endpoint): localhost"]),
        ({**ELSEWHERE, "warehouse": "file:///mnt/lake", "storage": None}, ["file:///mnt/lake is a folder"]),
        (ELSEWHERE, []),
        ({"type": "glue", "warehouse": "s3://lake/w", "region": "eu-west-1"}, []),
    ],
)
def test_each_address_of_a_catalog_is_looked_at(catalog: dict[str, object], words: list[str], tmp_path: Path) -> None:
    findings = list(only_here(settings_of("emr-serverless", tmp_path, catalog)))
    assert [(finding.check, finding.state) for finding in findings] == [("catalog", "wrong")] * len(words)
    assert all(word in finding.message for word, finding in zip(words, findings, strict=True))
    assert "hush" not in str(findings)


@pytest.mark.parametrize(
    ("catalog", "states"),
    [
        (SQLITE, []),  # the driver, which is here, asks it
        ({**REST, "access": "static"}, []),
        ({**REST, "access": "vended", "storage": "s3"}, ["wrong"]),  # workers renew what it lends
        ({**SQLITE, "warehouse": "file:///mnt/lake"}, ["warning"]),  # it may be mounted there
    ],
)
def test_workers_need_less_than_drivers(catalog: dict[str, object], states: list[str], tmp_path: Path) -> None:
    platform = Platform(name="cluster", mode="classic", master="spark://master.example.com:7077")
    findings = list(only_here(settings_of(platform, tmp_path, catalog)))
    assert [finding.state for finding in findings] == states


@pytest.mark.parametrize(
    ("platform", "is_here"),
    [
        (Platform(name="c", mode="classic", master="spark://localhost:7077"), True),
        (Platform(name="c", mode="classic", master="spark://localhost:7077,b.example.com:7077"), False),
        (Platform(name="c", mode="submit", master="local[2]"), True),
        (Platform(name="c", mode="connect", remote="sc://127.0.0.1:15002"), True),
        (Platform(name="c", mode="connect", remote="sc://spark.example.com:15002"), False),
    ],
)
def test_a_cluster_at_a_loopback_address_is_on_this_machine(platform: Platform, is_here: bool, tmp_path: Path) -> None:
    assert (list(only_here(settings_of(platform, tmp_path))) == []) is is_here


def test_what_is_a_loopback_address() -> None:
    hosts = ("127.0.0.1", "127.9.9.9", "::1", "localhost", "kafka.localhost", "0.0.0.0")
    assert [host for host in hosts if not is_loopback(host)] == []
    assert [host for host in ("10.0.0.7", "fd00::1", "example.com", "") if is_loopback(host)] == []
