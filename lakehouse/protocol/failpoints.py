"""Named places where a test may kill, hold or fail this process.

`LAKEHOUSE_FAILPOINTS="publish.before=kill;seal.after=hold:/tmp/x"` arms them. Unarmed, a failpoint is one dictionary
lookup. The idea is that of pingcap/failpoint: faults are injected where the story has its seams, not by timing.
"""

import os
import signal
import time
from pathlib import Path

_VARIABLE = "LAKEHOUSE_FAILPOINTS"
_POLL_SECONDS = 0.005


class InjectedFault(RuntimeError):
    """What an armed failpoint with the action `fail` raises."""


def failpoint(name: str) -> None:
    """Do what `LAKEHOUSE_FAILPOINTS` says for this place: nothing, `kill`, `fail`, or `hold:<file>`.

    `hold` creates `<file>.reached` and waits until `<file>` exists.
    """
    armed = os.environ.get(_VARIABLE)
    if not armed:
        return
    action, _, argument = dict(pair.split("=", 1) for pair in armed.split(";") if pair).get(name, "").partition(":")
    if action == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    elif action == "fail":
        raise InjectedFault(name)
    elif action == "hold":
        Path(f"{argument}.reached").touch()
        while not Path(argument).exists():
            time.sleep(_POLL_SECONDS)
    elif action:
        raise ValueError(f"{_VARIABLE}: unknown action {action!r} for {name}")
