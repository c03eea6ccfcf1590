"""The proofs of a mirror, a case each: a fold of the changelog, its own seals, and Iceberg's counters.

Guarded mechanisms: rows are compared with a second fold; a range begins where the one before has ended; what a seal
counts is what Iceberg has counted. Every case is in `test_verify` and `test_balance`.
"""

from pathlib import Path

import pytest

from lakehouse.protocol.catalog import open_catalog
from lakehouse.steps.cdc.evidence import read_evidence
from lakehouse.steps.cdc.statement import Applied
from lakehouse.steps.cdc.verify.counters import check_balance
from lakehouse.steps.cdc.verify.verify import check_fold
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.steps.cdc.mirrored import BIRDS, MirroredLake, insert


@pytest.fixture
def lake(tmp_path: Path) -> MirroredLake:
    made = MirroredLake(open_catalog(sql_settings(tmp_path)))
    made.ingest(insert(1, 1), insert(2, 2))
    return made


def balanced(lake: MirroredLake) -> set[str]:
    return {finding.kind for finding in check_balance(lake.tables, read_evidence(lake.catalog, lake.tables)).findings}


def test_a_row_that_was_changed_behind_the_mirrors_back(lake: MirroredLake) -> None:
    lake.apply()
    assert check_fold(lake.catalog, lake.tables).holds
    lake.tamper(BIRDS, [row | {"name": "raven"} if row["id"] == 1 else row for row in lake.rows()])
    assert "rows_differ" in {finding.kind for finding in check_fold(lake.catalog, lake.tables).findings}


def test_a_range_that_was_left_out(lake: MirroredLake) -> None:
    lake.apply()
    lake.ingest(insert(3, 3))
    lake.apply(start=4711)
    assert "gap" in balanced(lake)


def test_rows_that_iceberg_has_not_counted(lake: MirroredLake) -> None:
    lake.apply(applied=Applied(inserted=3), total_applied=Applied(inserted=3), rows=3)
    assert "counters_differ" in balanced(lake)
