"""A job that does one step elsewhere, whoever runs it: started, found again, watched, ended, and what it cost."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Literal, Protocol


@dataclass(frozen=True)
class LaunchToken:
    """What names a job.

    Args:
        step: what it does, `ingest_flights`.
        execution: the root run, the same for all re-executions; a step of it is launched once at a time.
        number: the try.
    """

    step: str
    execution: str
    number: int

    def __str__(self) -> str:
        return f"{self.step}/{self.execution}/{self.number}"

    @property
    def digest(self) -> str:
        """A name of 20 characters that any service takes."""
        return sha256(str(self).encode()).hexdigest()[:20]

    @classmethod
    def parse(cls, text: str) -> "LaunchToken | None":
        """The token of a text that is one; None of any other."""
        step, _, rest = text.partition("/")
        execution, _, number = rest.partition("/")
        return cls(step, execution, int(number)) if step and execution and number.isdigit() else None


@dataclass(frozen=True)
class JobState:
    """Where a job is.

    Args:
        phase: a job that `ended` does nothing any more, whatever became of it.
        reason: the service's own words for it.
    """

    phase: Literal["waiting", "running", "ended"]
    reason: str = ""


@dataclass(frozen=True)
class JobCost:
    """What a service says that a job has used; None for what it does not measure.

    Args:
        vcpu_hours: of driver and executors.
        memory_gb_hours: likewise.
        dpu_hours: of AWS Glue, whose unit has 4 vCPUs and 16 GB.
    """

    vcpu_hours: float | None = None
    memory_gb_hours: float | None = None
    dpu_hours: float | None = None

    def metadata(self) -> dict[str, float]:
        """For a materialization; nothing that is not measured."""
        amounts = {
            "vCPU hours": self.vcpu_hours,
            "memory GB hours": self.memory_gb_hours,
            "DPU hours": self.dpu_hours,
        }
        return {name: round(amount, 6) for name, amount in amounts.items() if amount is not None}


class RemoteJobs(Protocol):
    """A service that runs jobs. A job is what the service calls it: an id, a name, a folder."""

    look_seconds: float
    """How often it may be asked."""

    def find(self, token: LaunchToken) -> str | None:
        """The job that was started with this token, at work or ended."""
        ...

    def start(self, token: LaunchToken, folder: str) -> str:
        """Start a job.

        Args:
            token: by which it is found again; two starts with one token are one job.
            folder: where its request is, and where it reports to.
        """
        ...

    def state(self, job: str) -> JobState:
        """Where it is; one that is not there any more has ended."""
        ...

    def cancel(self, job: str) -> None:
        """End it, and return when it has ended, or after the platform's `stop_timeout_seconds`."""
        ...

    def cost(self, job: str) -> JobCost:
        """What it has used so far."""
        ...

    def logs(self, job: str) -> str:
        """Where its logs are: an address, a path or a command."""
        ...

    def at_work(self, step: str) -> Iterator[tuple[LaunchToken, str]]:
        """Jobs of a step that wait or run, whoever has started them."""
        ...
