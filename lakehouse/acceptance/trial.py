"""A trial: what it is about, what carries it out, and how it ended."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from lakehouse.acceptance.scratch import Scratch

Verdict = Literal["seen", "not seen", "refused"]
"""`seen`: it was carried out, and the promise was kept. `not seen`: it could not be carried out here, or there was no
time. `refused`: the promise was not kept, or what it needs was denied."""


@dataclass(frozen=True)
class Outcome:
    """How a trial ended.

    Args:
        trial: its name.
        promise: which promise it is about, in the words of the write protocol.
        verdict: whether the promise was kept here.
        evidence: what was seen, in one line.
        remedy: what to do where it is not `seen`.
        seconds: how long it took.
    """

    trial: str
    promise: str
    verdict: Verdict
    evidence: str
    remedy: str = ""
    seconds: float = 0.0


class NotSeen(Exception):
    """Here nobody can carry out the trial; says why, and what to do."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason)
        self.reason, self.remedy = reason, remedy


class PromiseBroken(Exception):
    """A trial was carried out, and the promise was not kept."""


@dataclass(frozen=True)
class Trial:
    """One thing that is tried.

    Args:
        name: short, for the page.
        promise: what it is about.
        carry_out: does it, and says in one line what was seen.
        needs_spark: whether it opens sessions.

    `carry_out` raises `NotSeen` or `PromiseBroken`; any other error is what the environment denied.
    """

    name: str
    promise: str
    carry_out: Callable[[Scratch], str]
    needs_spark: bool = False


def require(kept: bool, otherwise: str) -> None:  # noqa: FBT001 - it reads as a sentence
    """Go on if it is so.

    Raises:
        PromiseBroken: it is not.
    """
    if not kept:
        raise PromiseBroken(otherwise)
