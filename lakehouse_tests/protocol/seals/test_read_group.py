"""A writer publishes pairs of tables. Who loads them one after the other sees half a step; our group reader never does.

Guarded mechanisms: all locations in one SELECT (SQL); equal rounds of loads, and seals that agree (REST).
"""

import pytest
from pyiceberg.table import Table

from lakehouse.protocol.seals.read_group import Pinned, read_group
from lakehouse_tests.fixtures.lakes import SERVER_FIRST, Lake
from lakehouse_tests.protocol.commit.children import Child, publish_often, work_on
from lakehouse_tests.protocol.commit.oracle import Oracle

pytestmark = pytest.mark.slow

ROUNDS = 10
TABLES = ("a", "b")


@pytest.mark.slow
@pytest.mark.parametrize("lake", SERVER_FIRST, indirect=True)
def test_polled_while_pairs_are_published(lake: Lake, capsys: pytest.CaptureFixture[str]) -> None:
    for name in TABLES:
        lake.create(name)
    names = [f"{lake.namespace}.{name}" for name in TABLES]
    oracle = Oracle.of(lake)
    reads = torn = naive_torn = 0
    with Child(work_on(lake, "pairs", {name: [] for name in TABLES}), publish_often) as writer:
        for _ in range(ROUNDS):
            writer.go_on()
            while not writer.has_spoken():
                seen = read_group(lake.catalog, names)
                reads, torn = reads + 1, torn + _is_torn(seen)
            writer.hear()
            naive_torn += _naive_is_torn(oracle, writer)
    assert oracle.rows("a") == oracle.rows("b") == {n: str(n) for n in range(1, 2 * ROUNDS + 1)}
    assert reads >= ROUNDS
    assert (torn, naive_torn) == (0, ROUNDS)
    with capsys.disabled():
        kind = "REST" if lake.rest else "SQL"
        print(f"\n{kind}: {torn} of {reads} group reads torn; one after the other {naive_torn} of {ROUNDS}")


def test_a_publish_at_the_worst_moment(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs are published between the two loads of one group read: the reader must notice, and look again."""
    names = [lake.create(name) for name in TABLES]
    lake.write("first", a=[1], b=[1])
    left = iter(range(2, 4))
    reader, load = (lake.catalog, "load_table") if lake.rest else (lake.catalog._metadata_files, "read_for")
    real = getattr(reader, load)
    writer = Lake(lake.settings, type(lake.catalog)("lake", **lake.catalog.properties), lake.namespace, None)

    def publish_first(*args: object) -> object:
        loaded = real(*args)
        if (number := next(left, None)) is not None:
            writer.write(f"pair {number}", a=[number], b=[number])
        return loaded

    monkeypatch.setattr(reader, load, publish_first)
    group = read_group(lake.catalog, names)
    assert next(left, None) is None
    contents = [sorted(pinned.scan("n").to_arrow()["n"].to_pylist()) for pinned in group.values()]
    assert contents[0] == contents[1]


def _is_torn(group: dict[str, Pinned]) -> bool:
    return len({_counter(pinned.table, pinned.snapshot_id) for pinned in group.values()}) > 1


def _naive_is_torn(oracle: Oracle, writer: Child) -> bool:
    """Load one table, let a whole publish pass, load the other."""
    first = oracle.load("a")
    writer.go_on()
    writer.hear()
    heads = [(table, table.metadata.current_snapshot_id) for table in (first, oracle.load("b"))]
    return len({_counter(table, head) for table, head in heads}) > 1


def _counter(table: Table, snapshot_id: int | None) -> str | None:
    snapshot = table.snapshot_by_id(snapshot_id) if snapshot_id is not None else None
    if snapshot is None:
        return None
    assert snapshot.summary
    return snapshot.summary.additional_properties["lakehouse.counter"]
