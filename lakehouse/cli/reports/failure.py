"""Why a step failed, as a person is told: the words of an error alone where they are ours, else its class as well."""

import re

from dagster._core.execution.plan.objects import StepFailureData  # what a failed step's event holds

_LONGEST = 2000  # characters; the whole is in the run
# Python begins an error with its class, and for all but its own classes with the module of that.
_OURS = re.compile(r"(?:lakehouse|dagster)[\w.]*\.\w+: ")


def reason(failure: StepFailureData) -> str:
    """The words of a refusal, or of the innermost error that Dagster has kept; of an error not ours the first line."""
    shown = failure.user_failure_data
    if shown is not None and shown.description:
        return shown.description
    error = failure.error
    if error is None:
        return "unknown"
    message = (error.cause or error).message.strip()
    words = _OURS.sub("", message, count=1)
    # Spark's go on for pages.
    return words if words != message else message.partition("\n")[0][:_LONGEST]
