"""Who writes: one try of one step of one run. Its branch is never used again."""

import re
import secrets
import time
from dataclasses import dataclass, field, replace

from lakehouse import seal_keys

BRANCH_PREFIX = "lakehouse_attempt_"
_TIME_DIGITS = 11
_RANDOM_BYTES = 5
_ID_IN_BRANCH = re.compile(rf"_(?P<id>(?P<time>[0-9a-f]{{{_TIME_DIGITS}}})[0-9a-f]{{{2 * _RANDOM_BYTES}}})(_r\d+)?$")


_ID_IN_FILE = re.compile(rf"[0-9a-f]{{{_TIME_DIGITS + 2 * _RANDOM_BYTES}}}-")


def _new_id() -> str:
    # It begins with the time, so that housekeeping knows how old a branch is that has no commit of its own yet.
    return f"{time.time_ns() // 1_000_000:0{_TIME_DIGITS}x}{secrets.token_hex(_RANDOM_BYTES)}"


@dataclass(frozen=True)
class Attempt:
    """One try of a step.

    Args:
        run_id: the run that makes this attempt.
        step: what is done, the same for every attempt at it, for example `ingest:flights`.
        root_run_id: the first run of a chain of re-executions; the run itself when there is none.
        runtime_date: ISO date that the run was given, fixed once per run.
        code_version: version of the code that computes the step.
        parameters_digest: digest of the run-wide parameters.
    """

    run_id: str
    step: str
    root_run_id: str = ""
    runtime_date: str = ""
    code_version: str = ""
    parameters_digest: str = ""
    id: str = field(default_factory=_new_id)

    @property
    def branch(self) -> str:
        """The branch that only this attempt writes to; a valid Spark identifier."""
        step = re.sub(r"[^A-Za-z0-9]+", "_", self.step)
        return f"{BRANCH_PREFIX}{step}_{self.id}"

    def rebase_branch(self, rebase: int) -> str:
        """The branch for the same files on a newer base."""
        return f"{self.branch}_r{rebase}"

    def again(self) -> "Attempt":
        """Another try of the same step, with a branch of its own."""
        return replace(self, id=_new_id())

    @property
    def marks(self) -> dict[str, str]:
        """What every snapshot of this attempt carries in its summary."""
        return {seal_keys.ATTEMPT: self.id}


def written_by_attempt(path: str) -> bool:
    """Whether a data file has the name of an attempt's own file: it begins with the attempt's id."""
    return _ID_IN_FILE.match(path.rpartition("/")[2]) is not None


def begun_ms(branch: str) -> int:
    """When the attempt that a branch belongs to was begun, in milliseconds since the epoch; 0 where it does not say."""
    match = _ID_IN_BRANCH.search(branch)
    return int(match["time"], 16) if match else 0


def attempt_in(branch: str) -> str:
    """Id of the attempt that a branch belongs to; empty where it does not say."""
    match = _ID_IN_BRANCH.search(branch)
    return match["id"] if match else ""
