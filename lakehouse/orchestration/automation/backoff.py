"""How long to wait after runs that failed, one after the other: what stops a table mostly needs a person.

Retries are to stay visible, and not to eat the machine meanwhile.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from dagster import RunRecord

from lakehouse.orchestration.resources.run_records import ended_at

FIRST_PAUSE = timedelta(minutes=1)
LONGEST_PAUSE = timedelta(hours=1)
_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Failures:
    """The newest runs of a table that did not succeed, one after the other.

    Args:
        count: how many.
        ended_at: when the last of them ended; of no matter where there are none.
    """

    count: int = 0
    ended_at: datetime = _NEVER

    @classmethod
    def of(cls, newest_first: list[RunRecord]) -> "Failures":
        """Count runs."""
        return cls(len(newest_first), ended_at(newest_first[0])) if newest_first else cls()

    def reason_to_wait(self, now: datetime) -> str:
        """Why the next run is not started yet; empty if it may be."""
        if not self.count or now >= (again := self.ended_at + pause(self.count)):
            return ""
        failed = "the last run failed" if self.count == 1 else f"the last {self.count} runs failed"
        return f"{failed}, the next try is at {again:%H:%M:%S} UTC"


def pause(failures: int) -> timedelta:
    """How long to wait after so many failures: a minute, twice as long each time, an hour at most."""
    return min(FIRST_PAUSE * 2 ** min(failures - 1, 16), LONGEST_PAUSE)
