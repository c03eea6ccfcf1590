"""Spark's own way to catalog and storage."""

from pathlib import Path

import pytest

from lakehouse.doctor.spark_storage import spark_storage
from lakehouse.iceberg.durable_files import local_path
from lakehouse.settings import Settings
from lakehouse_tests.fixtures.lakes import Lake

pytestmark = pytest.mark.spark


@pytest.mark.usefixtures("spark")
def test_spark_writes_reads_lists_and_deletes_and_nothing_is_left(lake: Lake, spark_settings: Settings) -> None:
    findings = list(spark_storage(spark_settings.model_copy(update={"catalog": lake.settings})))
    assert [finding.state for finding in findings] == ["well", "well"]
    assert not [
        namespace for (namespace, *_) in lake.catalog.list_namespaces() if namespace.startswith("lakehouse_doc")
    ]
    warehouse = local_path(lake.settings.warehouse)
    assert warehouse is None or not list(warehouse.glob("lakehouse_doctor_*"))


@pytest.mark.usefixtures("spark")
def test_a_warehouse_that_cannot_be_written_is_named(sql_lake: Lake, spark_settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    catalog = sql_lake.settings.model_copy(update={"warehouse": f"{(tmp_path / 'file').as_uri()}/below"})
    *_, finding = spark_storage(spark_settings.model_copy(update={"catalog": catalog}))
    assert (finding.check, finding.state) == ("spark", "wrong")
    assert finding.message.startswith("To make a table failed in Spark")
    assert not sql_lake.catalog.list_namespaces() or sql_lake.catalog.list_namespaces() == [(sql_lake.namespace,)]
