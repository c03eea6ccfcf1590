"""Readers that need a server of their own: blocks of readers/duckdb.md and readers/notebook.md, run as they stand."""

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lakehouse.cli.reports.reader_settings import READERS
from lakehouse.protocol.catalog import LakeCatalog, TableChange, open_catalog, set_tag
from lakehouse.settings import Settings
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.guides import ROOT, block_run_by, lake_conf

PAGES = ROOT / "docs" / "how-to" / "readers"
THIS = "lakehouse_tests/test_readers.py"
FIRST = pa.table({"customer": ["c-1", "c-2"], "total": pa.array([1, 2], pa.int64()), "_cdc_digest": [7, 8]})
LATER = pa.table({"customer": ["c-3"], "total": pa.array([3], pa.int64()), "_cdc_digest": [9]})


def make_totals(catalog: LakeCatalog) -> None:
    """The table of the tutorial: two rows are current, and a third is newer."""
    catalog.create_namespace_if_not_exists("shop")
    table = catalog.create_table(("shop", "customer_totals"), FIRST.schema)
    table.append(FIRST)
    current = table.current_snapshot()
    assert current is not None
    tag = set_tag("release-sales-current", current.snapshot_id)
    catalog.commit_tables([TableChange(("shop", "customer_totals"), (), (tag,))])
    catalog.load_table(("shop", "customer_totals")).append(LATER)


@pytest.mark.slow
@pytest.mark.rest
def test_duckdb_reads_by_a_rest_catalog(rest_lake: Lake) -> None:
    make_totals(rest_lake.catalog)
    block = block_run_by(PAGES / "duckdb.md", THIS).replace("http://127.0.0.1:8181", rest_lake.settings.uri)
    names: dict[str, Any] = {}
    exec(compile(block.replace("'warehouse'", f"'{rest_lake.settings.warehouse}'"), "duckdb.md", "exec"), names)
    assert names["now"].columns == ["customer", "total"]
    assert sorted(names["now"].fetchall()) == [("c-1", 1), ("c-2", 2), ("c-3", 3)]
    assert len(names["then"].fetchall()) in (2, 3)


@pytest.mark.slow
@pytest.mark.spark
def test_a_notebook_reads_over_spark_connect(connect_settings: Settings, tmp_path: Path) -> None:
    make_totals(open_catalog(connect_settings.catalog))
    block = block_run_by(PAGES / "notebook.md", THIS)
    script = f"lake_conf = {lake_conf(connect_settings)!r}\n{block}\nimport json\n"
    (tmp_path / "cell.py").write_text(script + "print(json.dumps(sorted(frame['customer'])))\nspark.stop()\n")
    (exports,) = READERS["notebook"](connect_settings)
    cell = f"{exports}\nexec {shlex.quote(sys.executable)} {shlex.quote(str(tmp_path / 'cell.py'))}"
    result = subprocess.run(["bash", "-euc", cell], stdout=subprocess.PIPE, check=True, timeout=240)
    assert json.loads(result.stdout) == ["c-1", "c-2"]
