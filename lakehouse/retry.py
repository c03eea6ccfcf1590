"""How long to wait before a commit is tried again. Chance keeps apart those who met once."""

import random
import time

OTHERS_FIRST = 0.05
"""Seconds, where another commit was quicker: it is through already."""
NO_ANSWER = 0.6
"""Seconds, where the catalog gave no clear answer: it may be starting, or overloaded."""


def pause(longest: float) -> None:
    """Wait so many seconds at the most, and a tenth of them at least."""
    time.sleep(random.uniform(longest / 10, longest))  # noqa: S311 - jitter, not a secret
