"""Places in a source's order of changes."""

import pytest

from lakehouse.steps.cdc.position import ChangePosition


def test_they_compare_by_epoch_then_commit_then_place_in_it() -> None:
    mixed = [ChangePosition(1, 0, 0), ChangePosition(0, 10, 0), ChangePosition(0, 0, 9), ChangePosition(0, 2, 0)]
    assert [str(position) for position in sorted(mixed)] == ["0/0/9", "0/2/0", "0/10/0", "1/0/0"]


def test_text_and_struct_give_back_what_they_were_made_from() -> None:
    position = ChangePosition(1, 20, 3)
    assert ChangePosition.parse(str(position)) == position
    assert ChangePosition.of(position._asdict()) == position
    assert (ChangePosition.parse(""), ChangePosition.of(None)) == (None, None)
    with pytest.raises(ValueError, match="invalid literal"):
        ChangePosition.parse("a/b/c")
