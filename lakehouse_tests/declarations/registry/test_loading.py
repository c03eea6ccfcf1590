"""What does not load stops its own tables, and what needs them; everything else is loaded."""

from pathlib import Path

import pytest

from lakehouse.declarations import OWN_TABLES, Declarations, load_sound
from lakehouse_tests.declarations.registry.test_declarations import CHANGES, STREAM, TABLE, stream, things, write

MISTAKE = "\n\nx = = 1\n"
DERIVED = """
import pandera.pyspark as pa
from pyspark.sql.types import DateType
from lakehouse import Derived, Table

class Thing(pa.DataFrameModel):
    id: int
    day: DateType

_table = Table(
    name="mart.{name}", schema=Thing, description="Things.", owner="us", write_mode="overwrite",
    runtime_date_column="day",
)
{name} = Derived(table=_table, inputs={{"things": "{input}"}}, compute="SELECT * FROM things")
"""
RELEASE = """
from lakehouse import Release

shop = Release(name="shop", members=("mart.first", "mart.other"), description="The shop.", owner="us")
"""
SHARED = """
import pandera.pyspark as pa
from lakehouse import Changelog, Debezium, Mirror

class Thing(pa.DataFrameModel):
    id: int

log = Changelog(
    name="changelog.{name}", topic="shop", source="public.{name}", row=Thing, key=("id",), format=Debezium(),
    description="Things.", owner="us",
)
mirror = Mirror(name="mirror.{name}", changelog=log)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two streams with a table each, two tables that are computed, and a release of these."""
    for name in ("things", "others"):
        things(tmp_path, name, f"raw.{name}")
        stream(tmp_path, name, f"raw.{name}")
    write(tmp_path, "derived/first.py", DERIVED.format(name="first", input="raw.things"))
    write(tmp_path, "derived/second.py", DERIVED.format(name="second", input="mart.first"))
    write(tmp_path, "derived/other.py", DERIVED.format(name="other", input="raw.others"))
    write(tmp_path, "shop.py", RELEASE)
    return tmp_path


def names(declarations: Declarations) -> set[str]:
    return set(declarations.tables) - OWN_TABLES


EVERYTHING = {
    "raw.things", "quarantine.things", "raw.others", "quarantine.others", "mart.first", "mart.second", "mart.other",
    "release.shop",
}  # fmt: skip
OTHERS = {"raw.others", "quarantine.others", "mart.other"}


def test_where_nothing_is_wrong_nothing_is_left_out(folder: Path) -> None:
    sound = load_sound([folder])
    assert (names(sound), sound.broken, dict(sound.stopped)) == (EVERYTHING, (), {})


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("tables/things.py", TABLE.format(name="things", full="raw.things") + MISTAKE),
        ("tables/things.py", TABLE.format(name="things", full="raw.things").replace("key=", "keys=")),
        ("tables/things.py", "import no_such_module\n" + TABLE.format(name="things", full="raw.things")),
        ("streams/things.py", STREAM.format(name="things", table="raw.things") + MISTAKE),
        ("streams/things.py", STREAM.format(name="things", table="raw.thing")),
        ("streams/things_again.py", STREAM.format(name="things", table="raw.more")),
    ],
)
def test_a_mistake_stops_its_stream_and_what_is_computed_from_it(folder: Path, file: str, text: str) -> None:
    path = write(folder, file, text)
    sound = load_sound([folder])
    assert names(sound) == OTHERS
    assert set(sound.streams) == {"others"}
    [broken] = sound.broken
    assert broken.file == path
    assert str(path) in broken.message
    assert broken.remedy
    for name in ("raw.things", "mart.first", "mart.second", "release.shop"):
        assert broken.message in sound.stopped[name], name
    assert sound.stopped["mart.second"].startswith("it needs mart.first, which is stopped: it needs raw.things")


def test_the_line_of_a_mistake_is_named(folder: Path) -> None:
    path = write(folder, "tables/things.py", "x = 1\ny = = 2\n")
    sound = load_sound([folder])
    [broken] = sound.broken
    assert "raw.things, which may be in a file that does not load" in sound.stopped["quarantine.things"]
    assert (broken.line, broken.message.startswith(f"{path}, line 2: SyntaxError")) == (2, True)


def test_a_circle_stops_those_in_it(folder: Path) -> None:
    write(folder, "derived/first.py", DERIVED.format(name="first", input="mart.second"))
    sound = load_sound([folder])
    assert names(sound) == EVERYTHING - {"mart.first", "mart.second", "release.shop"}
    assert len(sound.broken) == 1


def test_releases_in_a_circle_stop_no_member(folder: Path) -> None:
    members = '"mart.first", "mart.other"'
    circle = RELEASE.replace(members, f'"release.fair", {members}')
    fair = RELEASE.replace("shop", "fair").replace(members, '"release.shop",')
    write(folder, "shop.py", circle)
    write(folder, "fair.py", fair)
    sound = load_sound([folder])
    assert names(sound) == EVERYTHING - {"release.shop"}
    assert set(sound.stopped) == {"release.shop", "release.fair"}


def test_two_mistakes_are_two(folder: Path) -> None:
    write(folder, "tables/things.py", TABLE.format(name="things", full="raw.things") + MISTAKE)
    write(folder, "streams/others.py", STREAM.format(name="others", table="raw.other"))
    sound = load_sound([folder])
    assert names(sound) == set()
    assert [broken.file.name for broken in sound.broken] == ["things.py", "others.py"]


def test_a_table_without_its_stream_is_not_another_table(folder: Path) -> None:
    """Declared alone it has no coordinates, and `lakehouse plan` would refuse or drop them."""
    write(folder, "streams/things.py", STREAM.format(name="things", table="raw.things") + MISTAKE)
    assert "raw.things" not in load_sound([folder]).tables
    computed = "for name in ('things',):\n    Stream(name=name, topic=name, route=ToTable(f'raw.{name}'))\n"
    write(folder, "streams/things.py", computed + MISTAKE)
    assert names(load_sound([folder])) == OTHERS, "whatever an unknown stream fills is not what another one fills"
    own = "\nimport dagster as dg\n\n@dg.asset(key=['raw', 'things'])\ndef fill() -> None: ...\n"
    things(folder).write_text(TABLE.format(name="things", full="raw.things") + own)
    assert "raw.things" in load_sound([folder]).tables, "nor what an asset of its own file fills"


def test_changelogs_of_one_stream_stand_still_together(tmp_path: Path) -> None:
    """Without one of its changelogs a stream would send that one's changes to quarantine."""
    for name in ("a", "b"):
        write(tmp_path, f"{name}.py", SHARED.format(name=name))
    write(tmp_path, "alone.py", CHANGES.format(log="changelog.c", mirror="mirror.c"))
    alone = {"changelog.c", "quarantine.things", "mirror.c", "mirror.c_tombstones", "quarantine.mirror_c"}
    write(tmp_path, "a.py", SHARED.format(name="a") + MISTAKE)
    sound = load_sound([tmp_path])
    assert names(sound) == alone
    assert {"changelog.a", "changelog.b", "mirror.a", "mirror.b", "mirror.b_tombstones"} <= set(sound.stopped)
    write(tmp_path, "a.py", SHARED.format(name="a").replace("mirror.a", "lakehouse.a"))
    assert names(load_sound([tmp_path])) == alone | {
        "changelog.a", "changelog.b", "quarantine.shop", "mirror.b", "mirror.b_tombstones", "quarantine.mirror_b",
    }, "a mirror alone keeps nobody from reading on"  # fmt: skip


def test_an_expectation_of_a_table_that_is_stopped_is_kept(folder: Path) -> None:
    """Its check asks, and says that it cannot be answered; a release that waits for it goes on waiting."""
    text = TABLE.format(name="others", full="raw.others").replace(
        "owner=", 'expects=(References(columns=("id",), table="raw.things"),), owner='
    )
    write(folder, "tables/others.py", text.replace("import Table", "import References, Table"))
    write(folder, "tables/things.py", TABLE.format(name="things", full="raw.things") + MISTAKE)
    sound = load_sound([folder])
    assert names(sound) == OTHERS
    assert len(sound.tables["raw.others"].expects) == 1
