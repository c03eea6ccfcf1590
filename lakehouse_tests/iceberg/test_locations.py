"""One file is one place, however its address is written; two are two."""

from pathlib import Path

import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse.declarations import DeclarationError
from lakehouse.iceberg.locations import PATH_PROPERTIES, AddressCut, place_of
from lakehouse.protocol.commit import open_branch
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.steps.ingest.parquet_files.target import WriteTarget
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.lakes import Lake


@pytest.mark.parametrize(
    ("first", "other"),
    [
        ("file:/t/a", "file:///t/a"),
        ("/t/a/", "file:/t//a"),
        ("s3://b/t/a", "s3a://b/t/a/"),
        ("hdfs://name:8020/t/a", "hdfs:///t/a"),
        ("hdfs:/t/a", "hdfs://name/t/a"),
    ],
)
def test_two_addresses_of_one_place(first: str, other: str) -> None:
    assert place_of(first) == place_of(other)


@pytest.mark.parametrize(
    ("first", "other"), [("s3://a/t", "s3://b/t"), ("file:/t/a", "file:/t/ab"), ("file:/t/a%20b", "file:/t/a b")]
)
def test_two_places(first: str, other: str) -> None:
    assert place_of(first) != place_of(other)
    assert not place_of(other).startswith(place_of(first))


def test_a_symlink_is_the_place_that_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there")
    assert place_of(f"file:{tmp_path}/link/x.parquet") == place_of(f"{tmp_path}/there/x.parquet")


@pytest.mark.parametrize("key", PATH_PROPERTIES)
@pytest.mark.parametrize("cut", ["#b", "?b", "\tb", "b "])
def test_an_address_of_which_a_part_is_read_cannot_be_declared(key: str, cut: str) -> None:
    with pytest.raises(DeclarationError, match=rf"raw.things: of the property {key} only a part"):
        declare({"n": T.LongType()}, properties={key: f"file:///t/a{cut}"})
    declare({"n": T.LongType()}, properties={key: "file:///t/a b%23;c/[d]"})


def test_nothing_is_written_where_every_file_would_be_one(sql_lake: Lake, tmp_path: Path) -> None:
    name = sql_lake.create("a")
    sql_lake.write("first", a=[1])
    with sql_lake.load(name).transaction() as by_hand:
        by_hand.set_properties({"write.data.path": f"file://{tmp_path}/a#b"})
    table = sql_lake.load(name)
    with pytest.raises(AddressCut, match=rf"{name}: its property write.data.path .*Remedy: name another folder"):
        open_branch(sql_lake.catalog, sql_lake.bases(name)[name], Attempt(run_id="run", step="next"))
    with pytest.raises(AddressCut, match=r"write\.data\.path"):
        WriteTarget.of(table.metadata, {})
    assert set(sql_lake.load(name).metadata.refs) == {"main"}
    with sql_lake.load(name).transaction() as by_hand:
        by_hand.remove_properties("write.data.path")
    sql_lake.write("second", a=[2])
    assert sql_lake.rows(name) == [1, 2]
