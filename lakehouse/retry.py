"""How a call is tried again: when, how often, and how long to wait before. Chance keeps apart those who met once.

Not every loop is such a retry. A publish, an append, tags, an expiry, a change of schema and a step that was overtaken
look at the tables anew and do something else the next time; they `pause` themselves, where they wait at all.
"""

import math
import random
import time
from collections.abc import Callable
from typing import Any

from tenacity import RetryCallState, Retrying, stop_after_attempt, stop_after_delay, wait_random
from tenacity.retry import retry_base

OTHERS_FIRST = 0.05
"""Seconds, where another commit was quicker: it is through already."""
NO_ANSWER = 0.6
"""Seconds, where the catalog gave no clear answer: it may be starting, or overloaded."""


def pause(longest: float) -> None:
    """Wait so many seconds at the most, and a tenth of them at least."""
    time.sleep(random.uniform(longest / 10, longest))  # noqa: S311 - jitter, not a secret


def retrying(
    tries: int,
    again: retry_base,
    *,
    longest: float = 0.0,
    within: float = math.inf,
    before_sleep: Callable[[RetryCallState], None] | None = None,
) -> Retrying:
    """Calls a function until it is through; after the last try the result, or the error, is that of the last try.

    Args:
        tries: so many at the most.
        again: after which errors or results there is another one.
        longest: seconds between two tries at the most; a tenth of them at least.
        within: seconds after which no other try begins.
        before_sleep: called before each wait, to say that there is one.
    """
    return Retrying(
        retry=again,
        stop=stop_after_attempt(tries) | stop_after_delay(within),
        wait=wait_random(longest / 10, longest),
        before_sleep=before_sleep,
        retry_error_callback=_outcome,
    )


def _outcome(last: RetryCallState) -> Any:
    assert last.outcome is not None
    return last.outcome.result()
