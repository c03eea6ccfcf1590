"""What an asset of a user's own has read once stays readable for the rest of its step.

Guarded mechanism: a tag of the step on what it reads, which goes when the step has ended.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import dagster as dg
import pytest

from lakehouse.build import _of_each_run
from lakehouse.declarations import Declarations
from lakehouse.iceberg.reachable_files import delete_files, reached_only_by
from lakehouse.orchestration.resources import Lake as LakeResource
from lakehouse.protocol.catalog import open_catalog
from lakehouse.steps.derived.inputs.pins import PIN_PREFIX
from lakehouse_tests.fixtures.lakes import Lake

PUBLISHES = 36


@pytest.fixture
def name(sql_lake: Lake) -> str:
    created = sql_lake.create("a", **{"lakehouse.publish.keep-snapshots": "2"})
    sql_lake.write("first", a=[1])
    return created


@pytest.fixture
def resource(sql_lake: Lake) -> LakeResource:
    made = LakeResource(None, Declarations({}, {}, {}))  # type: ignore[arg-type]
    vars(made)["catalog"] = open_catalog(sql_lake.settings)
    return made


def expire(lake: Lake, name: str) -> None:
    """Remove every snapshot that nothing holds, and all files that only those have reached."""
    before = lake.load(name)
    with lake.load(name).maintenance.expire_snapshots() as expired:
        expired.older_than(datetime.now(UTC) + timedelta(days=1))
    after = lake.load(name)
    kept = {snapshot.snapshot_id for snapshot in after.metadata.snapshots}
    gone = [snapshot for snapshot in before.metadata.snapshots if snapshot.snapshot_id not in kept]
    reached = reached_only_by(gone, before, after)
    delete_files(before, reached.data | reached.metadata, ())


def pins(lake: Lake, name: str) -> list[str]:
    return [ref for ref in lake.load(name).metadata.refs if ref.startswith(PIN_PREFIX)]


def run(resource: LakeResource, step: Callable[[LakeResource], None], *more: Callable[[LakeResource], None]) -> None:
    def asset(number: int, body: Callable[[LakeResource], None]) -> dg.AssetsDefinition:
        @dg.asset(name=f"step_{number}", deps=[f"step_{number - 1}"] if number else [])
        def own(lake: dg.ResourceParam[LakeResource]) -> None:
            body(lake)

        return own

    assets = [asset(number, body) for number, body in enumerate((step, *more))]
    dg.materialize(assets, resources={"lake": _of_each_run(resource)})


def test_what_was_read_is_read_again_after_many_publishes_and_an_expiry(
    sql_lake: Lake, name: str, resource: LakeResource
) -> None:
    tables_read: list[list[int]] = []

    def reads(lake: LakeResource) -> None:
        tables_read.append(lake.arrow(name)["n"].to_pylist())
        for number in range(PUBLISHES):
            sql_lake.write(f"publish-{number}", a=[number])
        expire(sql_lake, name)
        assert len(pins(sql_lake, name)) == 1
        tables_read.append(lake.arrow(name, columns=["n"])["n"].to_pylist())

    run(resource, reads)
    assert tables_read == [[1], [1]]
    assert pins(sql_lake, name) == [], "the step has ended"


def test_the_next_step_holds_the_next_moment_and_the_tag_of_the_first_is_gone(
    sql_lake: Lake, name: str, resource: LakeResource
) -> None:
    moments: list[tuple[int, list[str]]] = []

    def reads(lake: LakeResource) -> None:
        moments.append((lake.arrow(name).num_rows, pins(sql_lake, name)))
        sql_lake.write(f"after-{len(moments)}", a=[2])

    run(resource, reads, reads)
    assert [rows for rows, _ in moments] == [1, 2]
    assert [len(tags) for _, tags in moments] == [1, 1]
    assert moments[0][1] != moments[1][1]


def test_a_step_that_fails_lets_go_as_well(sql_lake: Lake, name: str, resource: LakeResource) -> None:
    def fails(lake: LakeResource) -> None:
        lake.arrow(name)
        raise ValueError("not today")

    with pytest.raises(ValueError, match="not today"):
        run(resource, fails)
    assert pins(sql_lake, name) == []


def test_outside_of_a_run_nothing_is_tagged_and_an_empty_table_is_read_as_such(
    sql_lake: Lake, name: str, resource: LakeResource
) -> None:
    assert resource.arrow(name).num_rows == 1
    assert pins(sql_lake, name) == []
    empty = sql_lake.create("empty")

    def reads(lake: LakeResource) -> None:
        assert lake.arrow(empty).num_rows == 0
        assert lake.pin(empty)[empty].snapshot_id is None

    run(resource, reads)
