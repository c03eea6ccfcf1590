"""Tables of one step, of which one was maintained since: a reader that sees half a step must still notice.

Guarded mechanism: the comparison of seals looks behind those of maintenance. A catalog that answers from one SELECT
never asks; so the comparison is tried on what a reader of another catalog could have seen.
"""

from itertools import product

import pytest
from pyiceberg.table import Table

from lakehouse.protocol.commit import publish, stage_replacement
from lakehouse.protocol.commit.replacement import Replacement
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.history import head_of
from lakehouse.protocol.seals.load_group import _agree
from lakehouse.protocol.seals.read_group import read_group
from lakehouse_tests.fixtures.lakes import Lake

pytestmark = pytest.mark.slow


def maintain(lake: Lake, name: str) -> None:
    table, upkeep = lake.load(name), Attempt(run_id="upkeep", step=f"maintain:{name}")
    replacement = Replacement.of_manifests(head_of(table) or 0, target_size=8 * 1024**2)
    publish(lake.catalog, [stage_replacement(lake.catalog, lake.bases(name)[name], upkeep, replacement)])


def test_half_a_step_is_noticed_behind_maintenance(sql_lake: Lake) -> None:
    names = [sql_lake.create("a"), sql_lake.create("b")]
    seen: dict[str, list[Table]] = {name: [] for name in names}
    for n in (1, 2):
        sql_lake.write("pair", a=[n], b=[n])
        for name in names:
            seen[name].append(sql_lake.load(name))
            maintain(sql_lake, name)
            seen[name].append(sql_lake.load(name))
    for (i, a), (j, b) in product(enumerate(seen[names[0]]), enumerate(seen[names[1]])):
        assert _agree([a, b]) == (i // 2 == j // 2)


@pytest.mark.rest
def test_a_catalog_that_shows_half_a_step_is_asked_again(rest_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """It shows the first table as it was before a step, and the second after the step and its maintenance."""
    names = [rest_lake.create(name) for name in "ab"]
    rest_lake.write("pair", a=[1], b=[1])
    before = rest_lake.load(names[0])
    rest_lake.write("pair", a=[2], b=[2])
    maintain(rest_lake, names[1])
    half = iter([{before.name(): before, (after := rest_lake.load(names[1])).name(): after}])
    real = rest_lake.catalog.load_tables
    monkeypatch.setattr(rest_lake.catalog, "load_tables", lambda asked: next(half, None) or real(asked))
    group = read_group(rest_lake.catalog, names)
    assert [sorted(p.scan("n").to_arrow()["n"].to_pylist()) for p in group.values()] == [[1, 2], [1, 2]]
