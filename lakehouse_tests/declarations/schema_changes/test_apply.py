"""Several processes bring up a new lakehouse at once: all of them succeed, and there is one table."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pyspark.sql.types as T  # noqa: N812
import pytest
from pyiceberg.exceptions import ForbiddenError

from lakehouse.declarations import apply, plan
from lakehouse.declarations.schema_changes.changes import SetProperty
from lakehouse.protocol.catalog import open_catalog
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import sql_settings

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("trial", range(5))
def test_four_appliers_at_a_barrier(tmp_path: Path, trial: int) -> None:
    first, second = ({"a": T.LongType()}, {"a": T.LongType(), "b": T.StringType(), "c": T.DoubleType()})
    settings = sql_settings(tmp_path)
    barrier = Barrier(4)

    def run(columns: dict[str, T.DataType]) -> None:
        barrier.wait()
        catalog = open_catalog(settings)
        planned = plan(declare(columns), catalog)
        barrier.wait()
        apply(planned, catalog)

    for columns in (first, second):
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(run, [columns] * 4))
    stored = open_catalog(settings).load_table("raw.things")
    assert [field.name for field in stored.schema().fields] == ["a", "b", "c"]
    assert not plan(declare(second), open_catalog(settings))


def test_a_table_outside_of_the_warehouse_is_as_declared_with_its_old_metadata(tmp_path: Path) -> None:
    """It may be another lakehouse's, which this one is a copy of: the catalog keeps what it would delete."""
    declared = declare({"a": T.LongType()})
    apply(plan(declared, open_catalog(sql_settings(tmp_path))), open_catalog(sql_settings(tmp_path)))
    elsewhere = open_catalog(sql_settings(tmp_path).model_copy(update={"warehouse": (tmp_path / "elsewhere").as_uri()}))
    (change,) = plan(declared, elsewhere).changes
    assert change == SetProperty("write.metadata.delete-after-commit.enabled", "true", "false")
    apply(plan(declared, elsewhere), elsewhere)
    assert not plan(declared, elsewhere)


def test_no_right_to_make_namespaces_is_needed_where_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Polaris asks for the right before it looks whether the namespace is there."""

    def refuse(*_: object) -> None:
        raise ForbiddenError("ForbiddenException: not authorized for op CREATE_NAMESPACE")

    catalog = open_catalog(sql_settings(tmp_path))
    catalog.create_namespace("raw")
    monkeypatch.setattr(catalog, "create_namespace", refuse)
    apply(plan(declare({"a": T.LongType()}), catalog), catalog)
    assert catalog.table_exists("raw.things")
