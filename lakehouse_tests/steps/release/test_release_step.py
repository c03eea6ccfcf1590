"""What a release needs has sound defaults, and its end can be told."""

from typing import Any

from lakehouse.steps.release.release_step import Released, ReleaseStep


def test_a_step_without_checks_judges_nothing_and_tells_nobody() -> None:
    nothing: Any = None
    step = ReleaseStep(nothing, nothing, nothing, nothing)
    assert (step.checks, step.dated, step.why) == ((), frozenset(), "every member was judged")
    step.inform("nobody hears this")


def test_a_release_that_changed_nothing_says_so() -> None:
    done = Released("unchanged", "r1", (), None, note="No member has changed.")
    assert (done.changed, done.dropped, done.pointer) == ({}, (), None)
