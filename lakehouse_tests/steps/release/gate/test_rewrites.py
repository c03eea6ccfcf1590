"""A commit that calls itself a rewrite is released only where it has kept the rows.

Guarded mechanism: rewrites of others are proven before readers get them, whatever checks say of their rows.
"""

from pathlib import Path

import pytest

from lakehouse.steps.release.gate.results import ReleaseHeld
from lakehouse_tests.steps.maintenance.verify.test_foreign_rewrites import OTHER_CLAIMS, relist, rewrite
from lakehouse_tests.steps.release.conftest import MakeGroup


def test_a_rewrite_that_changed_a_value_holds_the_release(sql_group: MakeGroup, tmp_path: Path) -> None:
    group = sql_group()
    group.make()
    judged_before = group.checks()
    changed = rewrite(group.lake, group.name("a"), [7], tmp_path)
    with pytest.raises(ReleaseHeld, match=f"snapshot {changed}, a rewrite .* does not hold the same rows"):
        group.release()
    group.release(checks=judged_before)
    assert group.vintages() == [1, 1, 1]


def test_a_rewrite_that_lists_the_same_files_with_other_bounds_holds_the_release(
    sql_group: MakeGroup, tmp_path: Path
) -> None:
    group = sql_group()
    group.make()
    changed = relist(group.lake, group.name("a"), tmp_path, alter=OTHER_CLAIMS["lower bound"])
    with pytest.raises(ReleaseHeld, match=f"snapshot {changed}, a rewrite .* does not hold the same rows"):
        group.release()


def test_a_rewrite_that_kept_every_row_is_released(sql_group: MakeGroup, tmp_path: Path) -> None:
    group = sql_group()
    group.make()
    rewrite(group.lake, group.name("a"), [1], tmp_path)
    assert group.release().outcome == "released"
