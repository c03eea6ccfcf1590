"""All tables of a routed stream, read while runs land: our reader never sees half a step, one by one does."""

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from lakehouse.declarations import ByField, Stream
from lakehouse.engines.kafka.statement import KafkaStatement
from lakehouse.protocol.catalog import LakeCatalog, open_catalog
from lakehouse.protocol.seals.history import Sealed, last_seal
from lakehouse.protocol.seals.read_group import read_group
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import SERVER_FIRST, Lake
from lakehouse_tests.steps.ingest.conftest import THINGS, Landing, MakeLanding, thing

pytestmark = [pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow]

KINDS = ("weather", "planes", "airports", "airlines")
RUNS = [3, pytest.param(20, marks=pytest.mark.soak)]


@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize("lake", SERVER_FIRST, indirect=True)
def test_a_group_is_never_seen_mixed_while_runs_land(landing: MakeLanding, lake: Lake, runs: int) -> None:
    stream = _reference(landing(), lake)
    stream.send([thing(0, kind="planes")])
    stream.ingest()
    seen: list[bool] = []
    stop = threading.Event()

    def poll() -> None:
        catalog = open_catalog(lake.settings)
        while not stop.is_set():
            group = read_group(catalog, [*stream.declarations.tables])
            seen.append(_mixed({name: pinned.sealed for name, pinned in group.items()}))

    reader = threading.Thread(target=poll)
    reader.start()
    try:
        for n in range(runs):
            stream.send([thing(n, kind=KINDS[n % 4]), thing(n, kind="unheard of")])
            assert stream.ingest(run_id=f"run-{n}").published is not None
    finally:
        stop.set()
        reader.join()
    print(f"{lake.settings.type}: {sum(seen)} of {len(seen)} reads of five tables mixed, {runs} runs meanwhile")
    assert len(seen) > runs
    assert not any(seen)
    assert stream.holds().seals == runs + 1


def test_tables_read_one_by_one_around_a_run_are_mixed(landing: MakeLanding, lake: Lake) -> None:
    stream = _reference(landing(), lake)
    stream.send([thing(0, kind="planes")])
    stream.ingest()
    stream.send([thing(1, kind="weather")])
    assert _mixed(_one_by_one(stream.catalog, [*stream.declarations.tables], halfway=stream.ingest))


def _reference(landing: Landing, lake: Lake) -> Landing:
    """The demo's shape: four tables by a field, and a quarantine, in one catalog and a namespace of their own."""
    route = ByField("kind", {kind: f"{lake.namespace}.{kind}" for kind in KINDS})
    stream = Stream(
        name="reference",
        topic=landing.stream.topic,
        route=route,
        quarantine=f"{lake.namespace}.rejected",
        max_quarantine_share=1.0,
    )
    here = replace(landing, catalog=open_catalog(lake.settings), settings=lake.settings)
    return here.declare(stream, *(declare(dict(THINGS), name=name) for name in route.tables))


def _one_by_one(catalog: LakeCatalog, names: list[str], halfway: Callable[[], object]) -> dict[str, Sealed | None]:
    seals: dict[str, Sealed | None] = {}
    for position, name in enumerate(names):
        if position == len(names) // 2:
            halfway()
        seals[name] = last_seal(catalog.load_table(tuple(name.split("."))))
    return seals


def _mixed(seals: dict[str, Sealed | None]) -> bool:
    statements = [KafkaStatement.from_keys(sealed.seal.statement) if sealed else None for sealed in seals.values()]
    return len({str(statement.end) if statement else "" for statement in statements}) > 1
