"""What users import: from `lakehouse` alone, and for one release from where it was before."""

import importlib
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import lakehouse

SURFACE = [
    "Avro",
    "ByDay",
    "ByField",
    "ByHeader",
    "ByMonth",
    "BySource",
    "ByTopic",
    "ByValue",
    "Changelog",
    "Debezium",
    "DeclarationError",
    "Deduplicate",
    "Derived",
    "Dms",
    "Drift",
    "DropDuplicates",
    "Evolution",
    "Expire",
    "Flat",
    "Histogram",
    "JsonSchema",
    "Lake",
    "LakehouseComponent",
    "LakehouseError",
    "LakehouseSpark",
    "Maintenance",
    "Manifests",
    "Mirror",
    "Mixed",
    "Orphans",
    "Protobuf",
    "Raw",
    "References",
    "Release",
    "Rewrite",
    "Rows",
    "SameValues",
    "SampleOf",
    "Start",
    "Statistics",
    "Stream",
    "Table",
    "ToAll",
    "ToNamed",
    "ToTable",
    "TopicPattern",
    "Topics",
    "Trigger",
    "build_defs",
    "derived",
    "load_settings",
    "read_group",
    "runtime_date",
]


def test_the_surface_is_what_it_was() -> None:
    assert lakehouse.__all__ == SURFACE


@pytest.mark.parametrize("name", SURFACE)
def test_each_name_is_there(name: str) -> None:
    assert getattr(lakehouse, name).__name__ == name


def test_a_name_that_is_not_there_is_said_so() -> None:
    with pytest.raises(AttributeError, match="module 'lakehouse' has no attribute 'Tabel'"):
        _ = lakehouse.Tabel  # pyright: ignore[reportAttributeAccessIssue]


def test_a_prompt_completes_what_is_public() -> None:
    assert set(SURFACE) <= set(dir(lakehouse))


def test_to_import_the_package_loads_nothing_else() -> None:
    program = "import sys, lakehouse; sys.exit(len({'pyspark', 'dagster', 'pyiceberg', 'pyarrow'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize(
    ("package", "name", "now"),
    [
        ("lakehouse.tables", "Table", "lakehouse"),
        ("lakehouse.tables", "load_declarations", "lakehouse.declarations"),
        ("lakehouse.resources", "Lake", "lakehouse"),
        ("lakehouse.commit", "read_group", "lakehouse"),
        ("lakehouse.runtime", "runtime_date", "lakehouse"),
    ],
)
def test_a_former_import_goes_on_with_a_warning(package: str, name: str, now: str) -> None:
    former = importlib.import_module(package)
    with pytest.warns(DeprecationWarning, match=f"{package}.{name} is imported from {now} now"):
        value = getattr(former, name)
    assert value is getattr(importlib.import_module(now), name)


@pytest.mark.parametrize(("package", "name"), [("tables", "Table"), ("resources", "Lake"), ("commit", "read_group")])
def test_so_does_a_former_import_of_everything(package: str, name: str) -> None:
    names: dict[str, object] = {}
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        exec(f"from lakehouse.{package} import *", names)
    assert f"lakehouse.{package}.{name} is imported from lakehouse now" in "\n".join(str(w.message) for w in warned)
    assert names[name] is getattr(lakehouse, name)


def test_a_type_checker_knows_each_name_and_no_other(tmp_path: Path) -> None:
    file = tmp_path / "declared.py"
    file.write_text("from lakehouse import Tabel\n" + "".join(f"from lakehouse import {name}\n" for name in SURFACE))
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(Path(__file__).parents[1])]}))
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--level", "error", "-p", str(tmp_path)]
    printed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    errors = json.loads(printed)["generalDiagnostics"]
    assert [error["message"] for error in errors] == ['"Tabel" is unknown import symbol']


def test_a_script_beside_the_clone_finds_the_package(tmp_path: Path) -> None:
    """The clone is a folder named `lakehouse`, with no `__init__.py`: to Python an empty package, if no other is."""
    (tmp_path / "lakehouse").mkdir()
    script = tmp_path / "script.py"
    script.write_text("import lakehouse; print(lakehouse.__file__)")
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, str(script)]
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert printed.strip() == lakehouse.__file__, "install it by bin/bootstrap"
