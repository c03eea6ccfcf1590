"""Runs guards in a process of their own, with every mechanism in place or without one."""

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from lakehouse_tests.mechanisms.mechanism import Mechanism

ROOT = Path(__file__).parents[2]
LONGEST = 300
_TESTS_FAILED = 1
_LAST_LINES = 12
_TIME_TO_END = 60


@dataclass(frozen=True)
class Failure:
    """A test that failed.

    Args:
        phase: `setup`, `call` or `teardown`.
        test: as pytest names it.
        reason: the first line of what it says.
        path: of the file in which it ended.
    """

    phase: str
    test: str
    reason: str
    path: str

    @property
    def proves(self) -> bool:
        """Whether the test itself has failed, and not what was set up for it, or the replacement by a mistake of it."""
        return self.phase == "call" and Path(self.path).parent.name != Path(__file__).parent.name


@dataclass(frozen=True)
class GuardRun:
    """How a run of guards ended.

    Args:
        code: pytest's exit code; None where it did not end in time.
        failures: of tests.
        seconds: it took.
        output: its last lines.
    """

    code: int | None
    failures: tuple[Failure, ...]
    seconds: float
    output: str

    @property
    def passed(self) -> bool:
        """Whether every test has passed."""
        return self.code == 0

    @property
    def guarded(self) -> bool:
        """Whether a test has noticed."""
        return self.code == _TESTS_FAILED and any(failure.proves for failure in self.failures)

    @property
    def ending(self) -> str:
        """In words, for who did not see it."""
        if self.code is None:
            return "it did not end in time"
        if self.passed:
            return "no test failed"
        failures = "; ".join(f"{failure.test} ({failure.phase}): {failure.reason}" for failure in self.failures)
        return f"pytest ended with {self.code}; {failures or 'no test ran'}"


def run_unbroken(mechanisms: Sequence[Mechanism]) -> GuardRun:
    """Run all guards together, with every mechanism in place."""
    return _run([], list(dict.fromkeys(mechanism.node for mechanism in mechanisms)), longest=4 * LONGEST)


def run_without(mechanism: Mechanism) -> GuardRun:
    """Run the guard of a mechanism without it."""
    return _run(["-x", "--without", mechanism.name], [mechanism.node], longest=LONGEST)


def _run(options: Sequence[str], nodes: Sequence[str], *, longest: float) -> GuardRun:
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="lakehouse-mechanisms-") as folder:
        failures = Path(folder) / "failures"
        failures.touch()
        plugins = ("-p", "lakehouse_tests.mechanisms.plugin", "-p", "no:cacheprovider")
        command = [sys.executable, "-m", "pytest", *plugins, "-q", "--failures", str(failures), *options, *nodes]
        code, output = _ended(command, longest)
        lines = failures.read_text(encoding="utf-8").splitlines()
    failed = tuple(Failure(**json.loads(line)) for line in lines)
    return GuardRun(code, failed, time.monotonic() - began, "\n".join(output.splitlines()[-_LAST_LINES:]))


def _ended(command: Sequence[str], longest: float) -> tuple[int | None, str]:
    """Exit code and output; a run that goes on too long is interrupted, so that it ends what it has started."""
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
    ) as process:
        try:
            output, _ = process.communicate(timeout=longest)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            try:
                output, _ = process.communicate(timeout=_TIME_TO_END)
            except subprocess.TimeoutExpired:
                process.kill()
                output, _ = process.communicate()
            return None, output
    return process.returncode, output
