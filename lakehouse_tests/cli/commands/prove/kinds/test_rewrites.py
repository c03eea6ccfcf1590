"""`lakehouse audit` of rewrites from outside the protocol."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.io.pyarrow import _dataframe_to_data_files

from lakehouse_tests.cli.commands.prove.kinds.computed_lake import computed_lake
from lakehouse_tests.cli.commands.prove.kinds.test_derived import audit
from lakehouse_tests.proofs.audit.document import ancestry
from lakehouse_tests.proofs.lineage.computed import DAY, TOP, Computed

pytestmark = pytest.mark.slow


@pytest.fixture
def lake(tmp_path: Path, jars: Path) -> Computed:
    return computed_lake(tmp_path, jars)


def rewritten(lake: Computed, name: str, *numbers: int) -> int:
    """Rows of the right date in the place of all files, by one commit that calls itself a rewrite; its snapshot."""
    table = lake.load(name)
    rows = pa.Table.from_pylist([{"n": n, "runtime_date": DAY} for n in numbers], schema=table.schema().as_arrow())
    with table.transaction() as transaction, transaction.update_snapshot().overwrite() as overwrite:
        for task in table.scan().plan_files():
            overwrite.delete_data_file(task.file)
        for file in _dataframe_to_data_files(table.metadata, rows, table.io):
            overwrite.append_data_file(file)
    lake.edit(name, lambda document: ancestry(document)[0]["summary"].update({"operation": "replace"}))
    return lake.head(name)


def test_a_rewrite_of_somebody_else_is_proven_or_broken(lake: Computed) -> None:
    snapshot_id = rewritten(lake, TOP, 1, 0)
    good = audit(lake)
    assert good.exit_code == 0, good.output
    assert json.loads(audit(lake, "--json", TOP).stdout)["rewrites"][0]["proven"] == [snapshot_id]
    snapshot_id = rewritten(lake, TOP, 1, 7)
    bad = audit(lake)
    assert bad.exit_code == 1, bad.output
    assert (
        f"BROKEN rewrite_changed_rows: {TOP}: {TOP}: snapshot {snapshot_id}, a rewrite from outside the protocol"
        in bad.output
    )
