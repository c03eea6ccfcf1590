"""The disk is full at any point of a mirror's step: it fails, its three tables stand, and the next completes.

Guarded mechanism: MERGE, ledger and quarantine go to branches of the attempt's own, and are published together.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.leases.lease import lease_tag, leases
from lakehouse.settings.storage_refusal import storage_refusal
from lakehouse.steps.cdc import fold_range, step
from lakehouse.steps.cdc.merge import apply
from lakehouse_tests.faults.small_disk import SmallDisk
from lakehouse_tests.fixtures.lakes import Lake, sql_settings
from lakehouse_tests.fixtures.spark import SparkOn
from lakehouse_tests.steps.cdc.conftest import Mirrored, delete, make_mirror, upsert

pytestmark = pytest.mark.spark

ROWS = 20


@pytest.fixture
def things(small_disk: SmallDisk, spark_on: SparkOn) -> Iterator[Mirrored]:
    """A mirror on the small disk, with rows in it and changes before it."""
    settings = sql_settings(small_disk.folder)
    catalog = open_catalog(settings)
    things = make_mirror(Lake(settings, catalog, "mirror", None), spark_on)
    things.apply([upsert(n, n + 1, "insert", name="first") for n in range(ROWS)])
    things.feed.append([upsert(1, 100, name="second"), upsert(ROWS, 101, "insert", name="new"), delete(0, 102)])
    yield things
    catalog.close()


AFTER = {n: ("second" if n == 1 else "new" if n == ROWS else "first", None) for n in range(1, ROWS + 1)}


def test_at_each_point_of_a_merge(things: Mirrored, small_disk: SmallDisk) -> None:
    """One after the other on the same mirror: what a failed step has left lies about when the next one fails."""
    before, rows, sealed = things.heads(), things.rows(), things.agree()
    points: list[tuple[Any, str]] = [
        *((apply, "open_branch"), (apply, "_merge"), (fold_range, "_write_rest")),
        *((step, "seal_branch"), (step, "publish")),
    ]
    for owner, name in points:
        real = getattr(owner, name)

        def on_a_full_disk(*args: Any, real: Any = real, **more: Any) -> Any:
            small_disk.fill()
            return real(*args, **more)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(owner, name, on_a_full_disk)
            with pytest.raises(Exception) as error:  # noqa: PT011 - of Spark, of SQLite or of the system
                things.run(run_id=f"full-{name}")
        assert storage_refusal(error.value, small_disk.folder) == "is full", (name, error.value)
        assert (things.heads(), things.rows(), things.agree()) == (before, rows, sealed), name
        assert leases(things.load("changelog.things")) == {lease_tag("mirror.things"): sealed.end}
        small_disk.make_room()
    report = things.run(run_id="next")
    assert report.kind == "mirror"
    assert things.rows() == AFTER
    assert things.tombstones() == [0]
    assert things.agree().changes == 3
    assert things.run(run_id="last").kind == "idle"
