"""What two files define under one name stops both, before Dagster refuses all that there is."""

from pathlib import Path

import pytest

from lakehouse.declarations import load_sound
from lakehouse_tests.declarations.registry.test_declarations import write
from lakehouse_tests.declarations.registry.test_loading import EVERYTHING, folder, names

assert folder  # a fixture

OWN = """
import dagster as dg
import pandera.pyspark as pa
from lakehouse import Table

class Thing(pa.DataFrameModel):
    id: int

table = Table(name="own.{name}", schema=Thing, description="Things.", owner="us")

{definition}
"""
ASSET = "@dg.asset(key=['mart', 'count'])\ndef {name}() -> None: ..."
CHECK = "@dg.asset_check(asset=['own', 'count'], name='small')\ndef {name}() -> dg.AssetCheckResult: ..."
SENSOR = "@dg.sensor(name='watch', target='*')\ndef {name}() -> None: ..."
SCHEDULE = "@dg.schedule(cron_schedule='0 0 * * *', name='watch', target='*')\ndef {name}() -> None: ..."
JOB = "@dg.job(name='count')\ndef {name}() -> None: ..."


def own(folder: Path, name: str, definition: str) -> Path:
    return write(folder, f"own/{name}.py", OWN.format(name=name, definition=definition.format(name=name)))


@pytest.mark.parametrize(
    ("first", "second", "name"),
    [
        (ASSET, ASSET, "asset mart/count"),
        (CHECK, CHECK, "check small of asset own/count"),
        (SENSOR, SCHEDULE, "sensor or schedule watch"),
        (JOB, JOB, "job count"),
        (ASSET, "@dg.multi_asset(specs=[dg.AssetSpec(['mart', 'count'])])\ndef {name}() -> None: ...", "mart/count"),
    ],
)
def test_two_files_with_one_name_are_both_left_out(folder: Path, first: str, second: str, name: str) -> None:
    first_file, two = own(folder, "one", first), own(folder, "two", second)
    own(folder, "three", ASSET.replace("count", "three"))
    sound = load_sound([folder])
    assert names(sound) == EVERYTHING | {"own.three"}
    assert [(broken.file, broken.tables) for broken in sound.broken] == [
        (first_file, ("own.one",)),
        (two, ("own.two",)),
    ]
    assert f"{first_file}: the " in sound.stopped["own.one"]
    assert f"{name} is defined in {two} as well" in sound.stopped["own.one"]
    assert f"{name} is defined in {first_file} as well" in sound.stopped["own.two"]


def test_names_of_different_kinds_do_not_meet(folder: Path) -> None:
    for name, definition in (("one", ASSET), ("two", JOB), ("three", SENSOR), ("four", CHECK)):
        own(folder, name, definition)
    assert load_sound([folder]).broken == ()


def test_what_two_files_import_is_one(folder: Path) -> None:
    write(folder, "own/_shared.py", "import dagster as dg\n" + ASSET.format(name="count"))
    shared = (
        "import importlib.util, sys\n"
        f"spec = importlib.util.spec_from_file_location('shared', {str(folder / 'own' / '_shared.py')!r})\n"
        "if 'shared' not in sys.modules:\n"
        "    sys.modules['shared'] = importlib.util.module_from_spec(spec)\n"
        "    spec.loader.exec_module(sys.modules['shared'])\n"
        "from shared import count"
    )
    own(folder, "one", shared)
    own(folder, "two", shared)
    assert load_sound([folder]).broken == ()


def test_one_file_with_one_name_twice(folder: Path) -> None:
    first_file = own(folder, "one", f"{ASSET}\n\n{ASSET.replace('{name}', 'again')}")
    [broken] = load_sound([folder]).broken
    assert (broken.file, broken.tables) == (first_file, ("own.one",))
    assert "is defined in the same file as well" in broken.message


@pytest.mark.parametrize("table", ["raw.things", "quarantine.things", "mart.first", "release.shop"])
def test_an_asset_of_a_table_that_something_declared_writes(folder: Path, table: str) -> None:
    first_file = own(folder, "one", ASSET.replace("'mart', 'count'", ", ".join(map(repr, table.split(".")))))
    sound = load_sound([folder])
    assert names(sound) == EVERYTHING
    [broken] = sound.broken
    assert (broken.file, broken.tables) == (first_file, ("own.one",))
    assert f"it defines an asset for {table}, which the " in broken.message


def test_an_asset_of_a_declared_table_in_a_file_of_assets_alone(folder: Path) -> None:
    file = folder / "alone.py"
    file.write_text("import dagster as dg\n" + ASSET.format(name="own").replace("'mart', 'count'", "'raw', 'things'"))
    sound = load_sound([folder])
    assert names(sound) == EVERYTHING
    [broken] = sound.broken
    assert (broken.file, broken.tables, sound.dagster_files) == (file, (), ())
    assert "it defines an asset for raw.things, which the " in broken.message
