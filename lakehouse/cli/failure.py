"""Why a step failed, as a person is told: the words of an error alone where they are ours, else its class as well."""

import re

from dagster._core.execution.plan.objects import StepFailureData  # what a failed step's event holds

# Python begins an error with its class, and for all but its own classes with the module of that.
_LONGEST = 2000  # characters; the whole is in the run
_OURS = re.compile(r"(?:lakehouse|dagster)[\w.]*\.\w+: ")


def reason(failure: StepFailureData) -> str:
    """The words of a refusal, or of the innermost error that Dagster has kept, in one line."""
    return " ".join(_words(failure).splitlines()[:1])[:_LONGEST]


def _words(failure: StepFailureData) -> str:
    shown = failure.user_failure_data
    if shown is not None and shown.description:
        return shown.description
    error = failure.error
    if error is None:
        return "unknown"
    return _OURS.sub("", (error.cause or error).message.strip(), count=1)
