"""Declarations that speak of another catalog: an input may, of a catalog that the settings name; nothing else may."""

from pathlib import Path

import pytest

from lakehouse.declarations import Declarations, load_sound
from lakehouse.declarations.registry.other_catalogs import inputs_elsewhere

PRELUDE = '''"""Of a test."""

import pandera.pyspark as pa
from pyspark.sql.types import DateType, LongType

from lakehouse import Derived, References, Release, Stream, Table, ToTable, derived


class Row(pa.DataFrameModel):
    """A row."""

    n: LongType = pa.Field(description="Number")
    runtime_date: DateType = pa.Field(description="Date")


def table(name, **more):
    return Table(name=name, schema=Row, description="T.", owner="tests", **more)


'''
TOTAL = """total = Derived(
    table=table("mart.total", write_mode="overwrite", runtime_date_column="runtime_date"),
    inputs={"there": "azure:raw.sales"},
    compute="SELECT n FROM there",
)
"""


def loaded(folder: Path, more: str = "", catalogs: tuple[str, ...] | None = ("azure", "aws")) -> Declarations:
    (folder / "declared.py").write_text(PRELUDE + TOTAL)
    if more:
        (folder / "more.py").write_text(PRELUDE + more)
    return load_sound([folder], catalogs=catalogs)


def test_a_table_of_another_catalog_needs_no_declaration_here(tmp_path: Path) -> None:
    declarations = loaded(tmp_path)
    assert declarations.broken == ()
    assert inputs_elsewhere(declarations) == ["azure:raw.sales"]


def test_a_catalog_that_nobody_chose_is_refused_by_name_and_stops_that_table_alone(tmp_path: Path) -> None:
    declarations = loaded(tmp_path, catalogs=("azur", "aws"))
    [broken] = declarations.broken
    assert "mart.total is computed from azure:raw.sales, and there is no other catalog 'azure'." in broken.message
    assert broken.remedy == "add it to other_catalogs of conf/lakehouse.yaml, or use one of aws, azur."
    assert list(declarations.stopped) == ["mart.total"]
    assert loaded(tmp_path, catalogs=None).broken == (), "where the settings are not known, any will do"


@pytest.mark.parametrize(
    "more",
    [
        'x = table("azure:raw.sales")',
        'x = Release(name="g", members=("mart.total", "azure:raw.sales"), description="R.", owner="tests")',
        'x = Stream(name="s", topic="s", route=ToTable("azure:raw.sales"))',
        'x = Stream(name="s", topic="s", route=ToTable("raw.sales"), quarantine="azure:quarantine.s")',
        'x = table("raw.sales", expects=(References(columns=("n",), table="azure:raw.sales"),))',
        """x = Derived(table=table("mart.t", write_mode="append", runtime_date_column="runtime_date"),
            inputs={"there": "azure:raw.sales"}, compute="SELECT n FROM there", mode="incremental", follows="there")""",
    ],
)
def test_what_would_span_two_catalogs_is_refused_in_one_line(tmp_path: Path, more: str) -> None:
    declarations = loaded(tmp_path, more)
    [broken] = declarations.broken
    assert broken.file == tmp_path / "more.py"
    assert "table of another catalog" in broken.message
    assert "\n" not in str(broken)
    assert list(declarations.derived) == ["mart.total"], "all others go on"
