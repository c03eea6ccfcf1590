"""What the documentation shows can be declared as it stands there."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lakehouse.declarations import Declarations, load_declarations
from lakehouse.declarations.registry.derived_rules import check_expectations
from lakehouse_tests.fixtures.demo_declarations import demo_declarations
from lakehouse_tests.settings.test_loading import REPOSITORY

SCHEMA = re.compile(r"cat > \S*/(\w+\.(?:avsc|proto|schema\.json)) <<'END'\n(.*?)\nEND\n", re.DOTALL)


def shown(page: str, *, of: str) -> list[str]:
    """The Python examples of a page, or of all that match, that mention something."""
    pages = [path.read_text() for path in sorted(REPOSITORY.glob(page))]
    blocks: list[str] = [block for text in pages for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL)]
    return [block for block in blocks if of in block]


def declared(folder: Path, *examples: str) -> Declarations:
    """The demo's declarations with some of the user's own, and the schemas of pages beside them."""
    for page in REPOSITORY.glob("docs/how-to/*.md"):
        for name, text in SCHEMA.findall(page.read_text()):
            (folder / name).write_text(text)
    for number, text in enumerate(examples):
        (folder / f"example_{number}.py").write_text(text)
    return load_declarations([demo_declarations(), folder])


@pytest.mark.parametrize(
    ("page", "table", "release"),
    [("README.md", "shop.customer_totals", "sales"), ("docs/how-to/*.md", "mart.airport_months", "flights")],
)
def test_a_documented_derived_table_and_its_release_can_be_declared(
    page: str, table: str, release: str, tmp_path: Path
) -> None:
    declarations = declared(tmp_path, *shown(page, of="Table("), *shown(page, of="= Release("))
    assert table in declarations.derived
    assert table in declarations.releases[release].members
    assert all(column.doc for column in declarations.tables[table].columns)


def test_a_documented_stream_and_its_table_can_be_declared(tmp_path: Path) -> None:
    declarations = declared(tmp_path, *shown("README.md", of="= Table(")[:1], *shown("README.md", of="= Stream("))
    assert declarations.writer("shop.orders") == declarations.streams["orders"]


def test_a_documented_mirror_can_be_declared(tmp_path: Path) -> None:
    declarations = declared(tmp_path, *shown("docs/how-to/mirror.md", of="Mirror("))
    assert declarations.mirrors["mirror.customers"].changelog.name == "changelog.customers"


def test_documented_expectations_can_be_declared_for_the_table_that_they_speak_of() -> None:
    [example] = shown("docs/how-to/rules.md", of="expects = (")
    names: dict[str, Any] = {}
    exec(example, names)
    demo = load_declarations([demo_declarations()])
    training = replace(demo.tables["features.training"], expects=names["expects"])
    assert len(training.expects) == 6
    check_expectations(replace(demo, tables={**demo.tables, training.name: training}))
