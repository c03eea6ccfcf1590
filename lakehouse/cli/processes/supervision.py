"""Starts servers that died or fell silent while `lakehouse dev` runs: at once, and later where that happens again."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from lakehouse.errors import LakehouseError

FIRST_WAIT, LONGEST_WAIT = 2.0, 60.0  # seconds
STEADY = 300.0  # a server that has run for so many seconds had no trouble at its start
ASK_EVERY, ANSWER_WITHIN = 10.0, 5.0  # seconds
# A process that is stopped, or collects garbage without end, is alive, and of no use. Counted, not timed: a laptop that
# was asleep, or a command that was itself stopped, has asked nobody meanwhile.
MOST_UNANSWERED = 6


class Server(Protocol):
    """A process of ours that others need."""

    def running(self) -> bool:
        """Whether its process is alive."""
        ...

    def answers(self, timeout: float) -> bool:
        """Whether it answers a client within so many seconds."""
        ...

    def start(self) -> bool:
        """Start it unless it is running, and return when it answers.

        Raises:
            LakehouseError: It could not be started.
        """
        ...

    def stop(self) -> bool:
        """End it. Returns whether it was running."""
        ...


@dataclass
class Supervised:
    """One server that is to run.

    Args:
        name: of the server, for people.
        server: the server, which runs.
        tell: takes a sentence, and whether the server answers, when it ended, could not be started, or is back.
        clock: seconds that only grow.
    """

    name: str
    server: Server
    tell: Callable[[str, bool], None]
    clock: Callable[[], float] = time.monotonic
    _ends: int = field(default=0, init=False)
    _due: float | None = field(default=None, init=False)
    _started: float = field(default=0.0, init=False)
    _asked: float | None = field(default=None, init=False)
    _unanswered: int = field(default=0, init=False)

    def look(self) -> None:
        """Start the server if it has ended, or does not answer any more, and its time has come."""
        now = self.clock()
        if self.server.running():
            if not self._is_silent(now):
                if now - self._started >= STEADY:
                    self._ends = 0
                return
            silence = MOST_UNANSWERED * ASK_EVERY
            self._due = now + self._plan_start(f"The {self.name} has not answered for {silence:.0f} s, and is ended.")
            self.server.stop()
        if self._due is None:
            self._due = now + self._plan_start(f"The {self.name} has ended.")
        if now < self._due:
            return
        try:
            self.server.start()
        except LakehouseError as error:
            self._due = self.clock() + self._plan_start(f"The {self.name} could not be started: {error}")
        else:
            self._due, self._started, self._unanswered = None, self.clock(), 0
            self.tell(f"The {self.name} answers again.", True)

    def _is_silent(self, now: float) -> bool:
        """Ask the server now and then; whether it has left too many questions unanswered."""
        if self._asked is None or now - self._asked >= ASK_EVERY:
            self._asked = now
            self._unanswered = 0 if self.server.answers(ANSWER_WITHIN) else self._unanswered + 1
        return self._unanswered >= MOST_UNANSWERED

    def _plan_start(self, trouble: str) -> float:
        """Say what happened, and in how many seconds it is started again."""
        wait = min(LONGEST_WAIT, FIRST_WAIT * 2 ** (self._ends - 1)) if self._ends else 0.0
        self._ends += 1
        self.tell(f"{trouble} It is started again {f'in {wait:.0f} s' if wait else 'now'}.", False)
        return wait
