"""Known traps are refused by name, each with what to do about it."""

from typing import Any

import pytest

from lakehouse.declarations import Maintenance, Rewrite
from lakehouse.steps.maintenance.model import preconditions
from lakehouse.steps.maintenance.model.action import Operation
from lakehouse.steps.maintenance.model.preconditions import Trap, refusals, refused_partition, require_safe, rows_of
from lakehouse.steps.maintenance.model.state import MeasuredState, Traits
from lakehouse_tests.steps.maintenance.states import TARGET, decided, line, part, state, whys

POLICY = Maintenance()
SOUND = part(files=4, size=TARGET)


def with_traits(**traits: Any) -> MeasuredState:
    """A sound table of these traits."""
    return state(SOUND, history=line(3), traits=Traits(**traits))


@pytest.mark.parametrize(
    ("traits", "operation", "name"),
    [
        ({"format_version": 3}, Operation.MANIFESTS, "FormatVersion3"),
        ({"format_version": 3}, Operation.DEDUPLICATE, "FormatVersion3"),
        ({"sealed": False}, Operation.REWRITE, "Unsealed"),
        ({"sealed": False}, Operation.MANIFESTS, "Unsealed"),
        ({"sealed": False}, Operation.EXPIRE, "Unsealed"),
        ({"sealed": False}, Operation.DEDUPLICATE, "Unsealed"),
        ({"gc_enabled": False}, Operation.EXPIRE, "GarbageCollectionOff"),
        ({"gc_enabled": False}, Operation.ORPHANS, "GarbageCollectionOff"),
        ({"gc_enabled": False}, Operation.BRANCHES, "GarbageCollectionOff"),
        ({"own_location": "write.data.path is set"}, Operation.ORPHANS, "SharedLocation"),
        ({"writer": "changelog"}, Operation.DEDUPLICATE, "ReadInRanges"),
        ({"writer": "mirror"}, Operation.DEDUPLICATE, "ReadInRanges"),
        ({"stream_refuses": "raw.a was rolled back."}, Operation.REWRITE, "StreamRefuses"),
        ({"stream_refuses": "raw.a was rolled back."}, Operation.EXPIRE, "StreamRefuses"),
        *(
            ({"not_loaded": ("x.py, line 3: SyntaxError",)}, operation, "DeclarationsBroken")
            for operation in (
                Operation.EXPIRE,
                Operation.ORPHANS,
                Operation.BRANCHES,
                Operation.LEASES,
                Operation.DEDUPLICATE,
            )
        ),
        ({"followed_by": ("mart.x",)}, Operation.DEDUPLICATE, "ReadInRanges"),
    ],
)
def test_a_trap_is_refused_by_name_with_a_remedy(traits: dict[str, Any], operation: Operation, name: str) -> None:
    [trap] = refusals(with_traits(**traits), POLICY, operation)
    assert type(trap).__name__ == name
    assert trap.remedy
    assert refusals(with_traits(), POLICY, operation) == ()


def test_a_decision_names_the_trap() -> None:
    many = state(part(), history=line(3), traits=Traits(sealed=False))
    plan = decided(many)
    assert whys(plan) == {"rewrite": ["refused"]}
    assert plan.withheld[0].action.reasons[0].startswith("Unsealed: raw.things holds rows and no seal.")


def test_data_files_of_version_3_are_rewritten_all_the_same() -> None:
    assert refusals(with_traits(format_version=3), POLICY, Operation.REWRITE) == ()


def test_equality_deletes_are_refused_until_their_writer_is_declared_gone() -> None:
    partition = part(equality_deletes=1)
    assert isinstance(refused_partition(partition, POLICY), preconditions.EqualityDeletes)
    assert refused_partition(partition, Maintenance(rewrite=Rewrite(equality_writer_gone=True))) is None
    assert refused_partition(part(), POLICY) is None


@pytest.mark.parametrize(
    ("procedure", "options", "trap"),
    [
        ("rewrite_manifests", {}, preconditions.NoBranch),
        ("rewrite_position_delete_files", {}, preconditions.NoBranch),
        ("expire_snapshots", {}, preconditions.NoBranch),
        ("remove_orphan_files", {}, preconditions.NoBranch),
        ("rewrite_data_files", {"partial-progress.enabled": "true"}, preconditions.PartialProgress),
        ("rewrite_data_files", {"max-file-group-input-files": "9"}, preconditions.BrokenOption),
    ],
)
def test_calls_that_end_badly_are_refused(procedure: str, options: dict[str, str], trap: type[Trap]) -> None:
    with pytest.raises(trap) as refused:
        require_safe(procedure, options)
    assert refused.value.remedy


def test_other_calls_are_not() -> None:
    require_safe("rewrite_data_files", {"partial-progress.enabled": "false", "min-input-files": "5"})
    require_safe("compute_table_stats", {})


def test_rows_are_not_counted_by_totals_where_there_are_delete_files() -> None:
    assert rows_of(state(SOUND)) == 4000
    assert rows_of(state(part(delete_files=1))) is None
