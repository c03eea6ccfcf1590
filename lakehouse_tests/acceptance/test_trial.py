"""What a trial requires, and how it says that it is not so."""

import pytest

from lakehouse.acceptance.trial import NotSeen, PromiseBroken, require


def test_what_is_not_so_breaks_the_promise() -> None:
    require(True, "never told")
    with pytest.raises(PromiseBroken, match="three rows"):
        require(False, "three rows")


def test_what_cannot_be_tried_says_why_and_what_to_do() -> None:
    reason = NotSeen("nothing is vended", "ask for it")
    assert (str(reason), reason.remedy) == ("nothing is vended", "ask for it")
