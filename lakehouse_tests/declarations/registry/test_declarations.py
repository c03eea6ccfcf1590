"""A user adds a file; it is found, or answered with its name and line."""

import sys
from pathlib import Path
from textwrap import dedent

import pytest
from pyspark import cloudpickle
from pyspark.sql.types import DecimalType

from lakehouse.declarations import COORDINATES, OWN_TABLES, DeclarationError, load_declarations

TABLE = """
import pandera.pyspark as pa
from lakehouse import Table

class Things(pa.DataFrameModel):
    id: int = pa.Field(gt=0)

{name} = Table(name="{full}", schema=Things, description="Things.", owner="us", key=("id",))
"""
STREAM = """
from lakehouse import ByField, Stream, ToTable

{name} = Stream(name="{name}", topic="{name}", route=ToTable("{table}"))
"""


def write(folder: Path, file: str, text: str) -> Path:
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text))
    return path


def things(folder: Path, name: str = "things", full: str = "raw.things") -> Path:
    return write(folder, f"tables/{name}.py", TABLE.format(name=name, full=full))


def stream(folder: Path, name: str = "things", table: str = "raw.things") -> Path:
    return write(folder, f"streams/{name}.py", STREAM.format(name=name, table=table))


def refusal(*folders: Path) -> str:
    with pytest.raises(DeclarationError) as caught:
        load_declarations(folders)
    assert "Remedy: " in str(caught.value)
    return str(caught.value)


def test_one_file_for_the_table_and_one_for_the_stream_are_enough(tmp_path: Path) -> None:
    table, route = things(tmp_path), stream(tmp_path)
    declarations = load_declarations([tmp_path])
    assert set(declarations.tables) - OWN_TABLES == {"raw.things", "quarantine.things"}
    assert declarations.tables["raw.things"].columns[-4:] == COORDINATES
    assert declarations.tables["quarantine.things"].owner == "us"
    assert declarations.streams["things"].tables == ("raw.things",)
    assert declarations.files.items() >= {"raw.things": table, "quarantine.things": route, "things": route}.items()
    assert (
        declarations.writer("raw.things") is declarations.writer("quarantine.things") is declarations.streams["things"]
    )
    assert not list(tmp_path.rglob("__pycache__"))


def test_a_table_without_stream_has_no_coordinates(tmp_path: Path) -> None:
    things(tmp_path)
    declarations = load_declarations([tmp_path])
    assert [column.name for column in declarations.tables["raw.things"].columns] == ["id"]
    assert declarations.writer("raw.things") is None


DERIVED = """
import pandera.pyspark as pa
from pyspark.sql.types import DateType
from lakehouse import Derived, Table

class Thing(pa.DataFrameModel):
    id: int
    day: DateType

_table = Table(
    name="lakehouse.mine", schema=Thing, description="Things.", owner="us", write_mode="overwrite",
    runtime_date_column="day",
)
mine = Derived(table=_table, inputs={"things": "raw.things"}, compute="SELECT * FROM things")
"""
CHANGES = """
import pandera.pyspark as pa
from lakehouse import Changelog, Debezium, Mirror

class Thing(pa.DataFrameModel):
    id: int

log = Changelog(
    name="{log}", topic="things", row=Thing, key=("id",), format=Debezium(), description="Things.", owner="us"
)
mirror = Mirror(name="{mirror}", changelog="{log}")
"""


def test_a_source_table_without_a_key_has_a_changelog_and_no_mirror(tmp_path: Path) -> None:
    text = CHANGES.format(log="changes.log", mirror="mirror.a").replace('key=("id",)', "key=()")
    file = write(tmp_path, "keyless.py", text)
    assert f"{file}: the mirror mirror.a follows changes.log, whose source table has no key" in refusal(tmp_path)
    write(tmp_path, "keyless.py", text.replace("mirror = Mirror", "Mirror"))
    columns = [column.name for column in load_declarations([tmp_path]).tables["changes.log"].columns]
    assert not {"key", "other_key"} & set(columns)
    write(tmp_path, "keyless.py", text.replace("key=()", 'key="id"'))
    assert "write it as (…,) with a comma, or () for a table without a key" in refusal(tmp_path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (TABLE.format(name="a", full="lakehouse.mine"), "the table lakehouse.mine would write lakehouse.mine"),
        (TABLE.format(name="a", full="Lakehouse.audit_log"), "the namespace Lakehouse is the lakehouse's own"),
        (TABLE.format(name="a", full="release.things"), "the table release.things would write release.things"),
        (STREAM.format(name="a", table="lakehouse.audit_log"), "the stream a would write lakehouse.audit_log"),
        (STREAM.format(name="a", table='raw.a"), quarantine=("lakehouse.statistics'), "would write lakehouse.stat"),
        (CHANGES.format(log="lakehouse.log", mirror="mirror.a"), "the changelog lakehouse.log would write"),
        (CHANGES.format(log="changes.log", mirror="lakehouse.audit_log"), "the mirror lakehouse.audit_log would"),
        (DERIVED, "the table lakehouse.mine would write lakehouse.mine"),
    ],
)
def test_nobody_may_write_where_the_lakehouse_keeps_its_own_records(tmp_path: Path, text: str, says: str) -> None:
    things(tmp_path)
    write(tmp_path, "own.py", text)
    assert says in refusal(tmp_path)


def test_a_stream_may_route_to_tables_of_another_folder(tmp_path: Path) -> None:
    things(tmp_path / "ours")
    stream(tmp_path / "theirs")
    assert load_declarations([tmp_path / "ours", tmp_path / "theirs"]).streams["things"].tables == ("raw.things",)


def test_files_of_one_name_do_not_meet_and_edits_are_seen_at_once(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    things(first, full="raw.one")
    things(second, full="raw.two")
    assert set(load_declarations([first, second]).tables) - OWN_TABLES == {"raw.one", "raw.two"}
    things(second, full="raw.six")
    assert set(load_declarations([first, second]).tables) - OWN_TABLES == {"raw.one", "raw.six"}


def test_rules_of_a_file_travel_to_processes_that_cannot_import_it(tmp_path: Path) -> None:
    things(tmp_path)
    table = load_declarations([tmp_path]).tables["raw.things"]
    name = table.schema.__module__
    packed = cloudpickle.dumps(table.schema)
    del sys.modules[name]
    assert cloudpickle.loads(packed).to_schema().columns["id"].checks[0].name == "greater_than"


def test_files_that_begin_with_an_underscore_are_passed_over(tmp_path: Path) -> None:
    things(tmp_path)
    write(tmp_path, "_draft.py", "raise RuntimeError")
    write(tmp_path, "_old/x.py", "raise RuntimeError")
    assert set(load_declarations([tmp_path]).tables) - OWN_TABLES == {"raw.things"}


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("x = 1\n1 / 0\n", 2, "ZeroDivisionError"),
        ("x = 1\ny = = 2\n", 2, "SyntaxError"),
        ("import sys\n\nsys.exit('no')\n", 3, "SystemExit"),
        (
            "from lakehouse import Stream, ToTable\ns = Stream(name='s', topic='a b', route=ToTable('a.b'))",
            2,
            "'a b'",
        ),
        ("from no_such_module import x", 1, "no_such_module"),
    ],
)
def test_an_error_in_a_file_is_told_with_file_and_line(tmp_path: Path, text: str, line: int, says: str) -> None:
    file = write(tmp_path, "broken.py", text)
    answer = refusal(tmp_path)
    assert f"{file}, line {line}" in answer
    assert says in answer


def test_postponed_annotations_mean_the_same(tmp_path: Path) -> None:
    write(
        tmp_path,
        "later.py",
        """\
        from __future__ import annotations
        import pandera.pyspark as pa
        import pyspark.sql.types as T
        from lakehouse import Table

        class Later(pa.DataFrameModel):
            price: T.DecimalType(10, 2)

        later = Table(name="raw.later", schema=Later, description="x", owner="x")
        """,
    )
    (column,) = load_declarations([tmp_path]).tables["raw.later"].columns
    assert column.type == DecimalType(10, 2)


def test_a_file_that_declares_nothing_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path, "nothing.py", "x = 1")
    assert f"{file}: declares no table" in refusal(tmp_path)


def test_a_file_that_only_defines_for_dagster_is_a_declaration_file_too(tmp_path: Path) -> None:
    file = write(tmp_path, "own.py", "import dagster as dg\n\n\n@dg.asset\ndef own() -> None: ...\n")
    assert load_declarations([tmp_path]).dagster_files == (file,)


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    assert str(tmp_path / "nowhere") in refusal(tmp_path / "nowhere")


@pytest.mark.parametrize("full", ["raw.things", "raw.Things"])
def test_a_table_is_declared_once(tmp_path: Path, full: str) -> None:
    first, second = things(tmp_path), things(tmp_path, name="things_again", full=full)
    answer = refusal(tmp_path)
    assert str(first) in answer
    assert str(second) in answer


def test_a_stream_is_declared_once(tmp_path: Path) -> None:
    things(tmp_path)
    stream(tmp_path)
    write(tmp_path, "streams/more.py", STREAM.format(name="things", table="raw.more"))
    assert "the stream things is declared in" in refusal(tmp_path)


def test_a_table_has_one_writer(tmp_path: Path) -> None:
    things(tmp_path)
    stream(tmp_path, "first")
    file = stream(tmp_path, "second")
    answer = refusal(tmp_path)
    assert "the streams first and second both write raw.things" in answer
    assert str(file) in answer


def test_a_quarantine_has_one_writer(tmp_path: Path) -> None:
    things(tmp_path, "one", "raw.one")
    things(tmp_path, "two", "raw.two")
    text = "from lakehouse import Stream, ToTable\n" + "".join(
        f"{n} = Stream(name='{n}', topic='t', route=ToTable('raw.{n}'), quarantine='bad.all')\n" for n in ("one", "two")
    )
    write(tmp_path, "streams.py", text)
    assert "the streams one and two both write bad.all" in refusal(tmp_path)


def test_a_quarantine_is_not_declared_by_hand(tmp_path: Path) -> None:
    things(tmp_path)
    stream(tmp_path)
    things(tmp_path, "mine", "quarantine.things")
    assert "quarantine.things, the quarantine of stream things, is declared as a table" in refusal(tmp_path)


def test_an_unknown_route_is_refused(tmp_path: Path) -> None:
    things(tmp_path)
    file = stream(tmp_path, table="raw.thing")
    answer = refusal(tmp_path)
    assert f"{file}: stream things goes to raw.thing, which is not declared" in answer
    assert "raw.things" in answer


def test_a_stream_only_appends(tmp_path: Path) -> None:
    write(tmp_path, "t.py", TABLE.format(name="t", full="raw.things").replace("owner=", 'write_mode="merge", owner='))
    stream(tmp_path)
    assert "appends to raw.things, whose write mode is merge" in refusal(tmp_path)
