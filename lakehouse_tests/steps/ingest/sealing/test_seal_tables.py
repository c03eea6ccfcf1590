"""Every table of a step is sealed, also one that received nothing."""

from pathlib import Path

from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.commit import publish
from lakehouse.protocol.seals.base import read_bases
from lakehouse.steps.ingest.sealing.seal_tables import seal_all
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.proofs.audit.simulated import A, SimulatedStream


def test_all_tables_say_the_same_and_each_its_own(tmp_path: Path) -> None:
    events = SimulatedStream(open_catalog(sql_settings(tmp_path)))
    step, bases = events.step(), read_bases(events.catalog, events.tables)
    statement = KafkaStatement("c", "events", "t", {0: 0}, {0: 3})
    publish(events.catalog, seal_all(step, bases, statement, {A: {"own": "word"}}, kind="adopt"))
    seals = {name: base.sealed.seal for name, base in read_bases(events.catalog, events.tables).items() if base.sealed}
    assert seals.keys() == set(events.tables)
    assert {seal.kind for seal in seals.values()} == {"adopt"}
    assert all(KafkaStatement.from_keys(seal.statement) == statement for seal in seals.values())
    assert [name for name, seal in seals.items() if seal.statement.get("own")] == [A]
