"""A `defs.yaml` brings a lakehouse into a Dagster project, from a folder or from a package of declarations.

The commands of docs/how-to/own-dagster.md do what these tests do in this process.
"""

import sys
import textwrap
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

import dagster as dg
import pytest
from dagster.components import ScaffoldRequest
from dagster.components.scaffold.scaffold import NoParams, get_scaffolder

from lakehouse import LakehouseComponent, LakehouseError, Table
from lakehouse.settings import KafkaSettings, load_settings
from lakehouse_tests.orchestration.assets.house import STREAM, TABLE, write_conf

# Dagster's own: how it reads YAML, and what of its components is a preview.
pytestmark = [
    pytest.mark.filterwarnings("ignore:`parse_obj_as` is deprecated"),
    pytest.mark.filterwarnings("ignore::dagster.PreviewWarning"),
    pytest.mark.filterwarnings("ignore::dagster.BetaWarning"),
]

TYPE = "lakehouse.component.LakehouseComponent"
FOLDER = f"""
type: {TYPE}
attributes:
  conf: ../../../../conf
  declarations: [declarations]
  asset_key_prefix: corp/lake
  resource_keys:
    spark: lake_spark
"""
PACKAGE = f"""
type: {TYPE}
attributes:
  declarations: [package=aviary.declared]
"""
RULED = """
from lakehouse import Table

from ._shared import OWNER
from aviary.schemas import Birds

birds = Table(name="raw.birds", schema=Birds, description="Birds.", owner=OWNER)
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A Dagster project as `create-dagster` makes it, called `aviary`."""
    write_conf(tmp_path, KafkaSettings(bootstrap_servers="127.0.0.1:1"), tmp_path)
    write(
        tmp_path,
        {
            "pyproject.toml": '[tool.dg]\ndirectory_type = "project"\n[tool.dg.project]\nroot_module = "aviary"\n',
            "src/aviary/__init__.py": "",
            "src/aviary/defs/__init__.py": "",
        },
    )
    monkeypatch.delenv("LAKEHOUSE_CONF", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path / "src"))
    yield tmp_path
    for name in [name for name in sys.modules if name.split(".")[0] == "aviary"]:
        del sys.modules[name]


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text).lstrip())


def loaded(project: Path) -> dg.Definitions:
    return dg.ComponentTree.for_project(project).build_defs()


def test_dagster_lists_the_component() -> None:
    [ours] = [point for point in entry_points(group="dagster_dg_cli.registry_modules") if point.name == "lakehouse"]
    assert vars(ours.load())["LakehouseComponent"] is LakehouseComponent
    assert f"{ours.value}.LakehouseComponent" == TYPE


def test_ten_lines_bring_a_folder_of_declarations(project: Path) -> None:
    lake = "src/aviary/defs/lake"
    files = {"defs.yaml": FOLDER, "declarations/birds.py": TABLE, "declarations/topic.py": STREAM.format(topic="birds")}
    write(project, {f"{lake}/{name}": text for name, text in files.items()})
    assert len(FOLDER.strip().splitlines()) <= 10
    defs = loaded(project)
    keys = {key.to_user_string() for key in defs.resolve_asset_graph().materializable_asset_keys}
    assert {"corp/lake/raw/birds", "corp/lake/quarantine/birds"} <= keys
    assert {"lake", "lake_spark"} <= set(defs.resources or {})
    assert defs.executor is None, "the project's own"


def test_declarations_are_an_ordinary_package(project: Path) -> None:
    model = TABLE.split("birds = Table")[0].replace("from lakehouse import Table\n", "")
    files = {
        "defs/lake/defs.yaml": PACKAGE,
        "schemas.py": model,
        "declared/__init__.py": "",
        "declared/_shared.py": 'OWNER = "ornithology"\n',
        "declared/birds.py": RULED,
        "declared/topic.py": STREAM.format(topic="birds"),
    }
    write(project, {f"src/aviary/{name}": text for name, text in files.items()})
    keys = {key.to_user_string() for key in loaded(project).resolve_asset_graph().materializable_asset_keys}
    assert "raw/birds" in keys
    imported = import_module("aviary.declared.birds")
    assert isinstance(imported.birds, Table)
    assert imported.birds.owner == "ornithology"


def test_a_package_that_is_not_there_is_named_with_its_file_and_key(project: Path) -> None:
    write(project, {"src/aviary/defs/lake/defs.yaml": PACKAGE})
    with pytest.raises(Exception, match=r"LakehouseComponent") as raised:
        loaded(project)
    cause: BaseException | None = raised.value
    while cause is not None and not isinstance(cause, LakehouseError):
        cause = cause.__cause__ or cause.__context__
    assert "defs.yaml, key declarations: there is no package aviary.declared" in str(cause)


def test_dg_scaffold_writes_declarations_and_settings_that_name_them(tmp_path: Path) -> None:
    first, second = tmp_path / "src/aviary/defs/lake", tmp_path / "src/aviary/defs/sea"
    for folder in (first, second):
        folder.mkdir(parents=True)
        request = ScaffoldRequest(
            type_name=TYPE, target_path=folder, scaffold_format="yaml", project_root=tmp_path, params=NoParams()
        )
        scaffolder = get_scaffolder(LakehouseComponent)
        assert isinstance(scaffolder, dg.Scaffolder)
        scaffolder.scaffold(request)
        assert "conf: ../../../../conf" in (folder / "defs.yaml").read_text()
        assert (folder / "declarations" / "streams" / "orders.py").is_file()
    assert load_settings(tmp_path / "conf", {}).declarations == (first / "declarations",), "settings are written once"
