"""Trials one after the other: each has a verdict, whatever becomes of the others, and no secret is repeated."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, cast

from lakehouse.acceptance.scratch import Scratch
from lakehouse.acceptance.trial import NotSeen, Outcome, Trial, require
from lakehouse.acceptance.trials import TRIALS, carry_out
from lakehouse.errors import LakehouseError


class _Place:
    """A place where nothing is."""

    sessions = 0

    def __init__(self, mode: str = "classic") -> None:
        platform = type("Platform", (), {"mode": mode})
        self.settings: Any = type("Settings", (), {"platform": platform})

    def inform(self, _: str) -> None:
        pass

    def session(self) -> Any:
        self.sessions += 1
        return nullcontext()


def outcomes(*functions: Callable[[Scratch], str], seconds: float = 60, needs_spark: bool = False) -> list[Outcome]:
    trials = [Trial(function.__name__, "a promise", function, needs_spark) for function in functions]
    return list(carry_out(cast("Scratch", _Place()), seconds, trials))


def good(_: Scratch) -> str:
    return "two rows"


def broken(_: Scratch) -> str:
    require(False, "three rows")
    return ""


def impossible(_: Scratch) -> str:
    raise NotSeen("nothing is vended", "ask for it")


def refused(_: Scratch) -> str:
    raise LakehouseError("The catalog refuses our credentials.", remedy="renew them")


def failed(_: Scratch) -> str:
    raise ValueError("password=hunter2")


def test_each_trial_has_a_verdict_of_its_own() -> None:
    tried = outcomes(failed, broken, impossible, refused, good)
    assert [outcome.verdict for outcome in tried] == ["refused", "refused", "not seen", "refused", "seen"]
    assert [outcome.evidence for outcome in tried[1:]] == [
        "three rows",
        "nothing is vended",
        "The catalog refuses our credentials.",
        "two rows",
    ]
    assert [bool(outcome.remedy) for outcome in tried] == [True, True, True, True, False]


def test_what_a_library_says_is_not_repeated() -> None:
    (outcome,) = outcomes(failed)
    assert outcome.evidence == "it ended in ValueError"


def test_when_the_time_is_over_nothing_more_is_begun() -> None:
    (outcome,) = outcomes(broken, seconds=0)
    assert (outcome.verdict, outcome.evidence) == ("not seen", "the time was over")


def test_a_classic_driver_is_opened_once_and_only_when_it_is_needed() -> None:
    place = _Place()
    trials = [Trial("a", "", good), Trial("b", "", good, needs_spark=True), Trial("c", "", good, needs_spark=True)]
    list(carry_out(cast("Scratch", place), 60, trials[:1]))
    assert place.sessions == 0
    list(carry_out(cast("Scratch", place), 60, trials))
    assert place.sessions == 1
    connect = _Place("connect")
    list(carry_out(cast("Scratch", connect), 60, trials))
    assert connect.sessions == 0


def test_trials_have_names_of_their_own() -> None:
    assert len({trial.name for trial in TRIALS}) == len(TRIALS)
