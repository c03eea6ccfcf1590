"""A project of one's own: what is written, that nothing is replaced, and that it is what the pages show."""

import re
import tomllib
from pathlib import Path

import dagster as dg
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from lakehouse.build import build_defs
from lakehouse.cli.project import ProjectFileExists, ProjectNotWritten, project_name, write_project
from lakehouse.declarations import load_declarations
from lakehouse.settings import load_settings
from lakehouse.settings.installed_package import DISTRIBUTION, version
from lakehouse_tests.fixtures.broker import REPOSITORY


def test_it_has_what_lakehouse_and_dagster_look_for(tmp_path: Path) -> None:
    written = write_project(tmp_path / "Web Shop", demo=False)
    assert {path.name for path in (tmp_path / "Web Shop").iterdir()} == {
        *("pyproject.toml", "README.md", ".gitignore", "conf", "dagster.yaml", "workspace.yaml")
    }
    assert all((tmp_path / "Web Shop" / file).is_file() for file in written)
    project = tomllib.loads((tmp_path / "Web Shop" / "pyproject.toml").read_text())
    needed = Requirement(project["project"]["dependencies"][0])
    assert (project["project"]["name"], needed.name, needed.extras) == ("web-shop", DISTRIBUTION, {"dev"})
    assert needed.specifier.contains(version())
    ours = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    pythons = [SpecifierSet(declared["project"]["requires-python"]) for declared in (project, ours)]
    assert pythons[0] == pythons[1]
    assert project["tool"]["dg"] == ours["tool"]["dg"]


def test_its_settings_and_its_example_load(tmp_path: Path) -> None:
    write_project(tmp_path, demo=False)
    settings = load_settings(tmp_path / "conf", {})
    assert (settings.state.root, settings.demo) == (tmp_path / ".lakehouse", False)
    declared = load_declarations(settings.declarations, demo=settings.demo)
    assert set(declared.streams) == {"orders"}
    assert dg.AssetKey(["shop", "orders"]) in build_defs(settings).resolve_asset_graph().get_all_asset_keys()
    keys = yaml.safe_load((tmp_path / "conf" / "lakehouse.yaml").read_text()).keys()
    assert keys <= yaml.safe_load((REPOSITORY / "conf" / "lakehouse.yaml").read_text()).keys()


def test_with_the_demo_it_declares_what_the_clone_does(tmp_path: Path) -> None:
    write_project(tmp_path, demo=True)
    shipped = {path.relative_to(REPOSITORY / "conf") for path in (REPOSITORY / "conf" / "declarations").rglob("*.py")}
    assert {
        path.relative_to(tmp_path / "conf") for path in (tmp_path / "conf" / "declarations").rglob("*.py")
    } == shipped
    assert load_settings(tmp_path / "conf", {}).demo
    assert "demo,dev" in (tmp_path / "pyproject.toml").read_text()


@pytest.mark.parametrize("file", ["pyproject.toml", "conf/catalogs/local.yaml"])
def test_it_replaces_nothing_and_then_writes_nothing(tmp_path: Path, file: str) -> None:
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text("mine")
    with pytest.raises(ProjectFileExists, match=rf"{tmp_path / file} exists; nothing was written. Remedy"):
        write_project(tmp_path, demo=False)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / file]
    assert (tmp_path / file).read_text() == "mine"


def test_a_file_that_cannot_be_written_takes_the_others_with_it(tmp_path: Path) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "kafka").write_text("no folder")
    with pytest.raises(ProjectNotWritten, match=rf"{tmp_path / 'conf' / 'kafka'} cannot be written: .*Remedy: choose"):
        write_project(tmp_path, demo=False)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / "conf" / "kafka"]


def test_its_example_is_that_of_the_tutorial(tmp_path: Path) -> None:
    write_project(tmp_path, demo=False)
    page = (REPOSITORY / "docs" / "tutorial" / "first-topic.md").read_text()
    for block in re.findall(r"```python\n# (conf/declarations/\S+)\n(.*?)```", page, re.DOTALL):
        assert code(block[1]) == code((tmp_path / block[0]).read_text())
    assert (tmp_path / "conf" / "samples" / "orders.jsonl").read_text() in page


def code(text: str) -> str:
    """Without docstrings."""
    return re.sub(r"\n\n+", "\n", re.sub(r'^ *""".*"""\n', "", text, flags=re.MULTILINE)).strip()


@pytest.mark.parametrize(
    ("folder", "name"),
    [("shop", "shop"), ("My_Shop 2", "my-shop-2"), ("lakehouse", "lakehouse-project"), ("…", "project")],
)
def test_its_name_is_one_that_a_distribution_may_have(folder: str, name: str) -> None:
    assert project_name(Path(folder)) == name
