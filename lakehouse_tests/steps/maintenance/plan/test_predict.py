"""What is expected of an action, and how that is learnt from those that are done."""

import pytest

from lakehouse.declarations import Rewrite
from lakehouse.steps.maintenance.model.action import Operation, Predicted, TableMeasure
from lakehouse.steps.maintenance.plan.cost_model import Done, Experience, Speed, learn, unlearnt
from lakehouse.steps.maintenance.plan.predict import begun, expiring, rewriting, taken
from lakehouse_tests.steps.maintenance.states import KNOWN, MIB, TARGET, part, state

REWRITE = Rewrite()


def done(size: int, seconds: float, *, uuid: str = "u", saved: float = 0.0, expected: float = 0.0) -> Done:
    """A rewrite that is done."""
    return Done(
        uuid,
        Operation.REWRITE,
        Predicted(plan_ms=expected),
        TableMeasure(plan_ms=100.0),
        TableMeasure(bytes=size, seconds=seconds, plan_ms=100.0 - saved),
    )


def test_small_files_become_as_few_as_their_bytes_fill() -> None:
    found = taken(part(files=100, size=3 * MIB), REWRITE)
    assert (found.files, found.written, found.fewer) == (100, 3, 97)


def test_files_that_deletes_touch_are_taken_and_the_deletes_go() -> None:
    one = part(files=4, size=TARGET, delete_files=3, touched=2, touched_bytes=2 * TARGET)
    found = taken(one, REWRITE)
    assert (found.files, found.deletes, found.bytes, found.written) == (2, 3, 2 * TARGET, 2)
    assert taken(part(files=4, size=TARGET), REWRITE).files == 0


def test_a_part_of_a_partition_brings_and_costs_a_part() -> None:
    one = part(files=1200, size=10 * MIB)
    whole = rewriting(state(one), [(one, taken(one, REWRITE))], KNOWN)
    part_of_it = begun(one, REWRITE, 6000 * MIB)
    assert part_of_it
    half = rewriting(state(one), [(one, part_of_it)], KNOWN)
    assert half.bytes == whole.bytes // 2
    assert half.files_removed == whole.files_removed // 2
    assert half.seconds == pytest.approx(5 + 300 + 600 * 0.006, abs=0.1)  # 20 MiB/s by two cores


def test_expiry_saves_each_commit_what_a_snapshot_costs_it() -> None:
    assert expiring(100, KNOWN).commit_ms == 30.0
    assert expiring(100, Experience(commit_factor=2.0)).commit_ms == 60.0


def test_speed_is_the_median_of_what_was_done_and_small_jobs_tell_the_overhead() -> None:
    rows = [done(MIB, 8.0), done(MIB, 9.0), done(2000 * MIB, 109.0), done(2000 * MIB, 209.0), done(2000 * MIB, 59.0)]
    speed = learn(rows, "u").speed(Operation.REWRITE)
    assert speed.overhead == 8.5
    assert speed.bytes_per_second == pytest.approx(2000 * MIB / 100.5)
    assert speed.bytes_in(8.5) == 0
    assert speed.seconds(speed.bytes_in(108.5)) == pytest.approx(108.5)


def test_many_small_files_take_long_and_say_nothing_of_the_overhead() -> None:
    many = Done(
        "u", Operation.REWRITE, Predicted(), TableMeasure(files=2_001), TableMeasure(files=1, bytes=MIB, seconds=17.0)
    )
    speed = learn([many], "u", cores=1).speed(Operation.REWRITE)
    assert speed.overhead == pytest.approx(5.0)
    assert speed.seconds(MIB, 2_000) == pytest.approx(17.1)
    part_of_it = speed.bytes_in(60, 100 * MIB, 50_000)
    assert speed.seconds(part_of_it, 50_000 * part_of_it // (100 * MIB)) == pytest.approx(60, abs=0.1)


@pytest.mark.parametrize("slow", [done(MIB, 9000.0), done(100 * MIB, 90_000.0)])
def test_one_run_that_took_for_ever_does_not_make_all_others_too_dear(slow: Done) -> None:
    speed = learn([slow], "u", cores=2).speed(Operation.REWRITE)
    assert speed.bytes_in(600) > 1024 * MIB


def test_a_table_learns_from_others_until_it_has_done_enough_itself() -> None:
    others = [done(1000 * MIB, 15.0, uuid="v")]
    assert learn([done(MIB, 1.0), *others], "u").speed(Operation.REWRITE).bytes_per_second > 50 * MIB
    own = learn([done(1000 * MIB, 105.0), *others], "u").speed(Operation.REWRITE)
    assert own.bytes_per_second == pytest.approx(10 * MIB)
    assert learn([], "u", cores=3) == unlearnt(3)
    assert unlearnt(3).speed(Operation.REWRITE) == Speed(5.0, 30.0 * MIB)


def test_how_well_it_was_foreseen_corrects_the_next_prediction_within_bounds() -> None:
    rows = [done(MIB, 1.0, saved=30.0, expected=10.0), done(MIB, 1.0, saved=20.0, expected=10.0)]
    assert learn(rows, "u").plan_factor == 2.5
    wild = [done(MIB, 1.0, saved=90.0, expected=1.0)]
    assert learn(wild, "u").plan_factor == 10.0
    assert learn([done(MIB, 1.0)], "u").plan_factor == 1.0
