"""A table that somebody upgraded beyond what can be written here is refused by name before anything is written.

Guarded mechanism: one look at the format version, by the plan of a table and by every commit to an attempt's branch.
"""

from pathlib import Path

import pytest
from pyspark.sql.types import LongType

from lakehouse.declarations import WouldLoseData, plan
from lakehouse.iceberg.format_version import UnwritableVersion
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.commit import open_branch
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.steps.cdc.plan.schema_evolution import evolve
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import Lake, sql_settings
from lakehouse_tests.proofs.audit.document import Document, edit_document
from lakehouse_tests.steps.cdc.mirrored import BIRDS, MirroredLake, insert

NEXT = Attempt(run_id="run", step="next")


def upgraded(lake: Lake, folder: Path) -> tuple[str, str]:
    """A table of version 3, and the metadata file that it had before."""
    name = lake.create("a")
    lake.write("first", a=[1])
    before = lake.load(name).metadata_location

    edit_document(folder / "catalog.db", name, upgrade)
    return name, before


def upgrade(document: Document) -> None:
    document |= {"format-version": 3, "next-row-id": 1}


def test_a_step_is_refused_before_its_branch_exists(sql_lake: Lake, tmp_path: Path) -> None:
    name, _ = upgraded(sql_lake, tmp_path)
    with pytest.raises(UnwritableVersion, match=rf"{name}: it was upgraded to format version 3.*Remedy: drop the"):
        open_branch(sql_lake.catalog, sql_lake.bases(name)[name], NEXT)
    with pytest.raises(UnwritableVersion, match=name):
        sql_lake.stage(sql_lake.bases(name)[name], NEXT, [])
    assert set(sql_lake.load(name).metadata.refs) == {"main"}


def test_a_rewrite_by_spark_alone_may_begin(sql_lake: Lake, tmp_path: Path) -> None:
    name, _ = upgraded(sql_lake, tmp_path)
    open_branch(sql_lake.catalog, sql_lake.bases(name)[name], NEXT, by_spark_alone=True)
    assert NEXT.branch in sql_lake.load(name).metadata.refs


def test_the_plan_names_the_version_and_the_remedy(sql_lake: Lake, tmp_path: Path) -> None:
    name, _ = upgraded(sql_lake, tmp_path)
    with pytest.raises(WouldLoseData, match=rf"{name}: it was upgraded to format version 3.*remedy: drop the table"):
        plan(declare({"n": LongType()}, name=name), sql_lake.catalog)


def test_a_mirror_refuses_at_its_first_look(tmp_path: Path) -> None:
    lake = MirroredLake(open_catalog(sql_settings(tmp_path)))
    lake.ingest(insert(1, 1))
    lake.apply()
    edit_document(tmp_path / "catalog.db", BIRDS, upgrade)
    with pytest.raises(UnwritableVersion, match=rf"{BIRDS}: it was upgraded to format version 3"):
        evolve(lake.tables, lake.catalog)


def test_the_remedy_works(sql_lake: Lake, tmp_path: Path) -> None:
    name, before = upgraded(sql_lake, tmp_path)
    sql_lake.catalog.drop_table(name)
    sql_lake.catalog.register_table(name, before)
    sql_lake.write("next", a=[2])
    assert sql_lake.rows(name) == [1, 2]
