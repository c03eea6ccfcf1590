"""`lakehouse infer` prints or writes a declaration, and replaces no file."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

import lakehouse.cli.commands.develop.infer as module
from lakehouse.cli import app
from lakehouse.engines.kafka.records import StoredRecord
from lakehouse.engines.kafka.topics import PartitionRange, TopicState
from lakehouse.engines.registries import RegisteredSchema
from lakehouse.settings.models import RegistrySettings

VALUES = [b'{"id": 1, "name": "secret value"}', b'{"id": 2}', b"{"]
AVRO = '{"type": "record", "name": "R", "fields": [{"name": "id", "type": "long"}]}'


@pytest.fixture(autouse=True)
def topic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        module, "read_topic", lambda kafka, topic: TopicState(topic, "c", "i", {0: PartitionRange(0, len(VALUES))})
    )
    monkeypatch.setattr(
        module,
        "record_values",
        lambda kafka, topic, ranges: (
            StoredRecord(p, n, None, VALUES[n]) for p, (start, end) in ranges.items() for n in range(start, end)
        ),
    )


def run(*words: str) -> str:
    done = CliRunner().invoke(app, ["infer", *words])
    return f"{done.exit_code}\n{done.output}"


def test_a_declaration_is_printed_and_no_value() -> None:
    printed = run("shop.orders")
    assert "id: LongType() = pa.Field(" in printed
    assert "name: StringType() = pa.Field(nullable=True" in printed
    assert 'route=ToTable("raw.shop_orders")' in printed
    assert "2 records of topic shop.orders (1 others are no JSON objects)" in printed
    assert "secret" not in printed


def test_so_many_of_the_newest_records_are_looked_at() -> None:
    assert "1 record of topic" in run("orders", "--records", "2")


def test_a_file_is_written_and_none_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "new" / "orders.py"
    assert run("orders", "--out", str(file), "--table", "shop.orders").startswith("0")
    assert 'name="shop.orders"' in file.read_text()
    assert "is there, and is not replaced" in " ".join(run("orders", "--out", str(file)).split())


def test_from_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    class Registry:
        def __init__(self, settings: RegistrySettings) -> None:
            assert settings.url == "http://127.0.0.1:1"

        def latest(self, subject: str) -> int:
            assert subject == "orders-value"
            return 7

        def schema(self, schema: int) -> RegisteredSchema:
            return RegisteredSchema("AVRO", AVRO, ())

    assert "name no registry" in " ".join(run("orders", "--registry").split())
    monkeypatch.setenv("LAKEHOUSE__KAFKA__SCHEMA_REGISTRY__URL", "http://127.0.0.1:1")
    monkeypatch.setattr(module, "ConfluentRegistry", Registry)
    printed = run("orders", "--registry")
    assert "format=Avro(registry=True)" in printed
    assert "schema 7 of subject orders-value" in printed


def test_nothing_to_infer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "record_values", lambda *_: iter(()))
    assert "none is a JSON object" in " ".join(run("orders").split())
