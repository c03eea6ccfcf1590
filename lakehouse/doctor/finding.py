"""A finding: what was looked at, how it is, and what to do."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from lakehouse.errors import LakehouseError
from lakehouse.settings import Settings

State = Literal["well", "warning", "wrong", "not asked"]
"""`not asked`: what it needs is missing, or was not wanted."""


@dataclass(frozen=True)
class Diagnosis:
    """What was found of one thing.

    Attributes:
        check: what was looked at.
        state: how it is.
        message: one sentence; it holds no secret.
        remedy: what to do, where it is not well.
    """

    check: str
    state: State
    message: str
    remedy: str = ""


Check = Callable[[Settings], Iterator[Diagnosis]]


def well(check: str, message: str) -> Diagnosis:
    """It is as it should be."""
    return Diagnosis(check, "well", message)


def wrong(check: str, message: str, remedy: str) -> Diagnosis:
    """It will not work so."""
    return Diagnosis(check, "wrong", message, remedy)


def warning(check: str, message: str, remedy: str) -> Diagnosis:
    """It may work, and perhaps not for long."""
    return Diagnosis(check, "warning", message, remedy)


def not_asked(check: str, why: str) -> Diagnosis:
    """It was not looked at."""
    return Diagnosis(check, "not asked", why)


def refused(check: str, error: LakehouseError) -> Diagnosis:
    """An error of ours, as a finding."""
    return Diagnosis(check, "wrong", error.message, error.remedy.removesuffix("."))


def examined(check: str, findings: Iterable[Diagnosis], subject: str = "This") -> Iterator[Diagnosis]:
    """Findings as they are made. An error that ends an examination is a finding of it, and ends no other.

    Args:
        check: what is looked at.
        findings: of it.
        subject: what an error is about, as its message begins.
    """
    try:
        yield from findings
    except LakehouseError as error:
        yield refused(check, error)
    except Exception as error:  # noqa: BLE001 - whatever it is, the other examinations go on
        # Only the kind: the rest may repeat a secret.
        yield wrong(
            check,
            f"{subject} could not be examined ({type(error).__name__}).",
            "look whether files and servers of it are as they should be; if they are, report this as a fault",
        )
