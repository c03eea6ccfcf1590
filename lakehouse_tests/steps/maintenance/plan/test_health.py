"""Health as one number: what costs points, and that tables which cannot be better are healthy."""

from dataclasses import replace

from hypothesis import given, settings

from lakehouse.declarations import Maintenance
from lakehouse.steps.maintenance.model.state import MeasuredState
from lakehouse.steps.maintenance.plan.health import health
from lakehouse_tests.steps.maintenance.states import TARGET, part, state, states

POLICY = Maintenance()


@settings(deadline=None)
@given(states())
def test_health_is_between_0_and_100(measured: MeasuredState) -> None:
    assert 0 <= health(measured, POLICY) <= 100


def test_small_files_and_deletes_cost_points() -> None:
    sound = part(files=20, size=TARGET)
    assert health(state(sound), POLICY) == 100
    small = health(state(part(files=2000, size=1024)), POLICY)
    assert 60 <= small < 61
    assert health(state(replace(sound, equality_deletes=2000)), POLICY) == 60
    assert health(state(replace(sound, position_deletes=2000)), POLICY) == 90
    assert health(state(replace(sound, equality_deletes=2000, position_deletes=4000)), POLICY) == 40


def test_a_tiny_table_and_many_partitions_of_one_file_are_healthy() -> None:
    assert health(state(part(files=3, size=1024)), POLICY) > 99
    assert health(state(*(part(f"day={day}", files=1, size=1024) for day in range(200))), POLICY) == 100


def test_without_partitions_the_totals_tell() -> None:
    measured = state(part(files=300, size=1024 * 1024))
    assert health(replace(measured, partitions=None), POLICY) == health(measured, POLICY) < 70
