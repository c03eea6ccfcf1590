"""What a table's properties say of its operations is what those operations say themselves."""

from pathlib import Path

import pytest

from lakehouse.declarations import ORPHANS, BrokenDeclaration, Declarations, Maintenance
from lakehouse.iceberg.locations import PATH_PROPERTIES
from lakehouse.protocol.catalog import open_catalog
from lakehouse.steps.maintenance.measure.traits import traits_of
from lakehouse.steps.maintenance.model.action import Operation
from lakehouse.steps.maintenance.model.preconditions import DeclarationsBroken, refusals
from lakehouse.steps.maintenance.orphans.location import CannotLook, require_own_place
from lakehouse_tests.fixtures.lakes import Lake, sql_settings
from lakehouse_tests.steps.maintenance.states import TARGET, line, part, state


@pytest.mark.parametrize("key", PATH_PROPERTIES)
def test_orphans_are_not_due_where_nobody_may_look_for_them(tmp_path: Path, key: str) -> None:
    """Else removal is called due, and refused, for ever."""
    settings = sql_settings(tmp_path)
    lake = Lake(settings, open_catalog(settings), "raw", None)
    lake.catalog.create_namespace("raw")
    table = lake.load(lake.create("a", **{key: str(tmp_path / "other")}))
    with pytest.raises(CannotLook, match=key):
        require_own_place(table, table)
    assert traits_of(table, ORPHANS, Declarations({}, {}, {})).own_location == f"{key} is set"


@pytest.mark.parametrize(
    "operation",
    [Operation.EXPIRE, Operation.ORPHANS, Operation.BRANCHES, Operation.LEASES, Operation.DEDUPLICATE],
)
def test_nothing_is_deleted_while_a_declaration_does_not_load(sql_lake: Lake, operation: Operation) -> None:
    """Nobody knows whether what it declares still reads the table."""
    table = sql_lake.load(sql_lake.create("a"))
    broken = BrokenDeclaration(Path("x.py"), 3, "x.py, line 3: SyntaxError.", "correct the file.")

    def traps(*errors: BrokenDeclaration) -> list[str]:
        traits = traits_of(table, ORPHANS, Declarations({}, {}, {}, broken=errors))
        measured = state(part(files=4, size=TARGET), history=line(3), traits=traits)
        return [
            trap.message
            for trap in refusals(measured, Maintenance(), operation)
            if isinstance(trap, DeclarationsBroken)
        ]

    assert traps() == []
    (message,) = traps(broken)
    assert "keeps what it has while declarations do not load: x.py, line 3" in message
