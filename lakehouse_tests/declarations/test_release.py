"""A declared release brings its pointer: a table like any other for plan and apply, and one that nobody else writes."""

from pathlib import Path

import pytest

from lakehouse.declarations import DeclarationError, Release, apply, iceberg_schema, load_declarations, plan
from lakehouse_tests.fixtures.lakes import Lake

TABLE = """
import pandera.pyspark as pa
from lakehouse import Release, Table

class Row(pa.DataFrameModel):
    n: int

table = Table(name="{name}", schema=Row, description="Things.", owner="tests")
"""
RELEASE = """
things = Release(name="things", members=("mart.things",), description="All things.", owner="tests")
"""


def declared(folder: Path, *texts: str) -> Path:
    for number, text in enumerate(texts):
        (folder / f"file{number}.py").write_text(text)
    return folder


def test_the_pointer_is_a_declared_table_that_the_release_writes(tmp_path: Path) -> None:
    declarations = load_declarations([declared(tmp_path, TABLE.format(name="mart.things") + RELEASE)])
    release = declarations.releases["things"]
    assert declarations.tables["release.things"] is release.table
    assert declarations.writer("release.things") is release
    assert declarations.files["release.things"] == tmp_path / "file0.py"
    assert "Releases of things (All things)" in release.table.description
    assert all(column.doc for column in release.table.columns)


def test_nobody_else_may_declare_it(tmp_path: Path) -> None:
    other = TABLE.format(name="release.things")
    with pytest.raises(DeclarationError, match=r"the table release\.things would write release\.things"):
        load_declarations([declared(tmp_path, TABLE.format(name="mart.things") + RELEASE, other)])


def test_apply_makes_it_as_declared(sql_lake: Lake) -> None:
    release = Release(name="things", members=("mart.things",), description="All things.", owner="tests")
    made = apply(plan(release.table, sql_lake.catalog), sql_lake.catalog)
    assert made.schema().as_struct() == iceberg_schema(release.table).as_struct()
    assert not plan(release.table, sql_lake.catalog)


def test_a_release_of_its_own_pointer_is_refused() -> None:
    with pytest.raises(DeclarationError, match=r"Release things: its own pointer release\.things is a member"):
        Release(name="things", members=("mart.things", "Release.things"), description="All things.", owner="tests")


def test_releases_of_each_others_pointers_are_refused(tmp_path: Path) -> None:
    two = """
one = Release(name="one", members=("mart.things", "release.two"), description="Things.", owner="tests")
two = Release(name="two", members=("release.one",), description="Things.", owner="tests")
"""
    with pytest.raises(DeclarationError, match=r"in a circle: release\.\w+ → release\.\w+ → release\."):
        load_declarations([declared(tmp_path, TABLE.format(name="mart.things") + two)])
