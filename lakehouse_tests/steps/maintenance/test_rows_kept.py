"""A rewrite that loses a row, or brings a deleted one back, a case each. Every case is in `test_proof`.

Guarded mechanisms: rows that go and rows that come are compared; a delete file stays as long as a file needs it.
"""

from dataclasses import replace

import pytest
from pyiceberg.io.pyarrow import _dataframe_to_data_files
from pyiceberg.manifest import ManifestEntry, ManifestEntryStatus

from lakehouse.protocol.commit import publish
from lakehouse.protocol.errors import ContentChanged
from lakehouse.steps.maintenance.verify.proof import Prover
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.protocol.commit.rewrites import append, create, delete_rows, entries, frame, rewrite


@pytest.fixture
def name(sql_lake: Lake) -> str:
    made = create(sql_lake)
    append(sql_lake, made, {1: 1, 2: 1})
    append(sql_lake, made, {3: 1, 4: 1})
    return made


def prover(lake: Lake, name: str) -> Prover:
    return Prover(lake.load(name), 0, None, 2**30, lambda partition: f"day={partition[1][0]}")


def test_a_rewrite_that_loses_a_row(sql_lake: Lake, name: str) -> None:
    honest, losing = (rewrite(sql_lake.load(name), 1, lose=lose) for lose in (0, 1))
    assert prover(sql_lake, name).prove(honest).rows == 4
    with pytest.raises(ContentChanged, match="day=1: 4 rows before, 3 after"):
        prover(sql_lake, name).prove(losing)


def test_deletes_that_a_file_which_stays_still_needs(sql_lake: Lake, name: str) -> None:
    """What is rewritten holds the same rows; that another file has its deleted row back, no row of it shows."""
    files = sorted(entries(sql_lake.load(name)).values(), key=lambda entry: entry.sequence_number or 0)
    publish(sql_lake.catalog, [delete_rows(sql_lake, name, [entry.data_file for entry in files], only=False)])
    table = sql_lake.load(name)
    whole = rewrite(table, 1)
    [new] = _dataframe_to_data_files(table.metadata, frame({4: 1}), table.io)
    new.spec_id = table.metadata.default_spec_id
    into = (ManifestEntry.from_args(status=ManifestEntryStatus.ADDED, sequence_number=1, data_file=new),)
    out = tuple(entry for entry in whole.out if entry.data_file.file_path != files[0].data_file.file_path)
    with pytest.raises(ContentChanged, match="delete files went that apply"):
        prover(sql_lake, name).prove(replace(whole, out=out, into=into))
