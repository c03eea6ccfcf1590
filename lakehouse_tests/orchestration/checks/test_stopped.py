"""A declaration that does not load, saved while others are at work: they run on, it is shown, nothing is deleted.

Guarded mechanism: `load_sound` in `build_defs`, and the precondition `DeclarationsBroken`.
"""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from lakehouse.build import PROVE_JOB
from lakehouse.declarations import load_sound
from lakehouse.orchestration.checks import LOADS
from lakehouse_tests.orchestration.assets.flock import new_flock
from lakehouse_tests.orchestration.assets.house import NESTS, STREAM, TABLE, House, checks, materializations

MISTAKE = "\nx = = 1\n"
BIRDS, FLOCK = dg.AssetKey(["raw", "birds"]), dg.AssetKey(["raw", "flock"])


@pytest.fixture
def flock(tmp_path: Path, jars: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    """A table that an asset of its own fills, and one that a stream would fill, whose file does not load."""
    with new_flock(tmp_path, jars, monkeypatch, writes=1) as house:
        house.declare("birds", TABLE + MISTAKE)
        house.declare("sightings", STREAM.format(topic="birds"))
        yield house


def test_other_tables_are_written_and_the_broken_one_is_shown(flock: House) -> None:
    defs = flock.defs()
    dg.Definitions.validate_loadable(defs)
    assert flock.run("raw.flock", defs=defs).success
    graph = defs.resolve_asset_graph()
    assert FLOCK in graph.materializable_asset_keys
    assert BIRDS in graph.get_all_asset_keys() - graph.materializable_asset_keys
    assert {sensor.name for sensor in defs.sensors or []} & {"birds_lag", "upkeep"} == {"upkeep"}
    chosen = {dg.AssetCheckKey(BIRDS, LOADS)}
    prove = defs.resolve_job_def(PROVE_JOB).get_subset(asset_check_selection=chosen)
    [check] = checks(prove.execute_in_process(instance=flock.instance)).values()
    assert not check.passed
    assert f"birds.py, line {TABLE.lstrip().count(chr(10)) + 2}: SyntaxError" in (check.description or "")


def test_two_files_with_one_asset_stop_each_other_and_no_third(flock: House) -> None:
    for name in ("one", "two"):
        own = f"\nimport dagster as dg\n\n@dg.asset(key=['mart', 'count'])\ndef {name}() -> None: ...\n"
        flock.declare(name, TABLE.replace("raw.birds", f"own.{name}") + own)
    defs = flock.defs()
    dg.Definitions.validate_loadable(defs)
    assert flock.run("raw.flock", defs=defs).success
    graph = defs.resolve_asset_graph()
    assert {"/".join(key.path) for key in graph.get_all_asset_keys() - graph.materializable_asset_keys} >= {
        "own/one", "own/two",
    }  # fmt: skip
    assert dg.AssetKey(["mart", "count"]) not in graph.get_all_asset_keys()
    printed = flock.command("plan", exit_code=2).stderr
    assert printed.count("the asset mart/count is defined in") == 2


def test_a_file_that_shows_no_table_is_shown_by_its_name(flock: House) -> None:
    flock.declare("birds", "import no_such_module")
    keys = flock.defs().resolve_asset_graph().get_all_asset_keys()
    assert [key.path[1][:6] for key in keys if key.path[0] == "declarations"] == ["birds_"]


def test_what_deletes_waits(flock: House) -> None:
    for words in ("housekeep", "lease release raw.flock me", "retire a.b", "rollback raw.flock"):
        done = flock.command(*words.split(), "--yes", exit_code=2)
        assert "Nothing is removed or taken back while a declaration does not load" in done.stderr
        assert "DOES NOT LOAD: " in done.stderr


def test_commands_about_everything_do_the_rest_and_end_with_2(flock: House) -> None:
    done = flock.command("plan", exit_code=2)
    assert "raw.flock" not in done.stdout, "it is as declared"
    assert done.stderr.count("DOES NOT LOAD: ") == 1
    assert "It stops quarantine.birds, raw.birds." in done.stderr
    assert flock.command("apply", exit_code=2).stderr.count("DOES NOT LOAD: ") == 1
    proven = flock.command("audit", exit_code=2)
    assert "Nothing is proven of what it declares." in proven.stderr
    assert "not_loaded" in flock.command("audit", "--json", exit_code=2).stdout
    flock.declare("birds", TABLE)
    assert "DOES NOT LOAD" not in flock.command("plan").stderr


@pytest.mark.kafka
@pytest.mark.spark
def test_an_unrelated_stream_is_read(working_house: House) -> None:
    working_house.declare("nests", NESTS.format(name="nests", topic="nests", target_lag=60) + MISTAKE)
    working_house.birds(3)
    result = working_house.run("raw.birds", "quarantine.birds")
    assert result.success
    assert materializations(result)["raw.birds"].metadata["rows added"].value == 3
    assert set(load_sound(working_house.settings.declarations).stopped) == {"changelog.nests", "mirror.nests"}
