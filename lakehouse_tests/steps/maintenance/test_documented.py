"""The page on maintenance names every number that a user can set, as it is declared; its examples are real plans."""

from dataclasses import MISSING, fields
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lakehouse.declarations import Deduplicate, Expire, Maintenance, Manifests, Orphans, Rewrite, Statistics
from lakehouse.declarations.policies.maintenance import maintenance_properties
from lakehouse.settings import MaintenanceSettings
from lakehouse.steps.maintenance.model import preconditions
from lakehouse.steps.maintenance.model.action import Operation
from lakehouse_tests.fixtures.broker import REPOSITORY
from lakehouse_tests.reference.lines import shown
from lakehouse_tests.steps.maintenance.examples import EXAMPLES

DOCS: Path = REPOSITORY / "docs" / "reference" / "maintenance.md"
PARTS = (Rewrite, Manifests, Expire, Orphans, Statistics, Deduplicate, Maintenance)
_MIB = 1024**2


def section(name: str) -> str:
    """What stands under a heading of the docs."""
    return DOCS.read_text().split(f"### `{name}`", 1)[1].split("\n#", 1)[0]


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
def test_every_field_is_there_with_its_default(part: type[Any]) -> None:
    text = section(part.__name__)
    for declared in fields(part):
        if declared.default is not MISSING:
            default = shown(declared.default)
        else:
            default = shown(declared.default_factory()) if declared.default_factory is not MISSING else "to be given"
        assert f"| `{declared.name}` | {default} |" in text


def test_every_setting_is_there_with_its_default() -> None:
    text = section("maintenance` in `conf/lakehouse.yaml")
    for name, field in MaintenanceSettings.model_fields.items():
        assert f"| `{name}` | {shown(int(field.default))} |" in text


def test_every_property_operation_and_trap_is_named() -> None:
    page = DOCS.read_text()
    for name in maintenance_properties(Maintenance()):
        assert f"`{name}`" in page
    for operation in Operation:
        assert f"`{operation}`" in page
    for trap in vars(preconditions).values():
        if isinstance(trap, type) and issubclass(trap, preconditions.Trap) and trap is not preconditions.Trap:
            assert f"`{trap.__name__}`" in page


def test_the_declaration_that_is_shown_is_one() -> None:
    made: dict[str, Any] = {"__name__": "shown"}
    exec(DOCS.read_text().split("```python\n", 1)[1].split("```", 1)[0], made)
    policy = made["orders"].maintenance
    assert policy.rewrite == Rewrite(target_file_size=64 * _MIB, quiet_for=timedelta(hours=1))
    assert (policy.manifests, policy.statistics) == (None, None)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_worked_examples_are_what_is_decided(name: str) -> None:
    assert f"```\n{EXAMPLES[name]()}\n```" in DOCS.read_text()
