"""One file is one place, however its address is written; two are two."""

from pathlib import Path

import pytest

from lakehouse.iceberg.locations import place_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("file:/t/a", "file:///t/a"),
        ("/t/a/", "file:/t//a"),
        ("s3://b/t/a", "s3a://b/t/a/"),
        ("hdfs://name:8020/t/a", "hdfs:///t/a"),
        ("hdfs:/t/a", "hdfs://name/t/a"),
    ],
)
def test_two_addresses_of_one_place(one: str, other: str) -> None:
    assert place_of(one) == place_of(other)


@pytest.mark.parametrize(
    ("one", "other"), [("s3://a/t", "s3://b/t"), ("file:/t/a", "file:/t/ab"), ("file:/t/a%20b", "file:/t/a b")]
)
def test_two_places(one: str, other: str) -> None:
    assert place_of(one) != place_of(other)
    assert not place_of(other).startswith(place_of(one))


def test_a_symlink_is_the_place_that_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "there")
    assert place_of(f"file:{tmp_path}/link/x.parquet") == place_of(f"{tmp_path}/there/x.parquet")
