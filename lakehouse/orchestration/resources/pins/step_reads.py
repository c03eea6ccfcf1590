"""What the running step has pinned and read: the same until it ends, and named in the seals of what it writes."""

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager

from dagster import DagsterInvariantViolationError, OpExecutionContext

from lakehouse.declarations import Declarations
from lakehouse.orchestration.resources.declared_tables import require_there, with_siblings
from lakehouse.orchestration.resources.pins.step_pins import pin_of, pinned_tables, release_pins
from lakehouse.orchestration.run_context import StepContext, run_parameters
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.seals.read_group import Pinned, read_group
from lakehouse.settings import Settings
from lakehouse.steps.derived.inputs.pins import Pin
from lakehouse.steps.derived.used_parameters import UsedParameters
from lakehouse.steps.release.reading import OpenRelease, open_release


class StepReads:
    """Pins, open releases and used parameters of one step; the next step of this process begins with none.

    Outside of a run there is no step, and no tag keeps what is pinned.
    """

    def __init__(self, catalog: Callable[[], LakeCatalog], declarations: Callable[[], Declarations]) -> None:
        """Nothing is opened before it is needed."""
        self._catalog = catalog
        self._declarations = declarations
        self._given_step: tuple[str, str, int] | None = None
        self._step: object = None
        self._pin: Pin | None = None
        self._pins: dict[str, Pinned] = {}
        self._releases: dict[str, OpenRelease] = {}
        self._parameters: UsedParameters | None = None
        self._snapshots: dict[str, int] = {}

    @property
    def snapshots(self) -> Mapping[str, int]:
        """Table → the snapshot of it that was read."""
        return self._snapshots

    @property
    def at_pins(self) -> list[str]:
        """Those of the tables that were read at `main`, and in no release."""
        pinned = {name: self._pins[name].snapshot_id for name in self._snapshots if name in self._pins}
        return [name for name, snapshot_id in pinned.items() if snapshot_id == self._snapshots[name]]

    def pin(self, *names: str) -> dict[str, Pinned]:
        """Hold tables at their snapshots of one moment, for the rest of the step.

        Raises:
            TableMissing: one of them does not exist.
        """
        self.follow_step()
        require_there(self._catalog(), self._declarations(), (name for name in names if name not in self._pins))
        wanted = [
            name for name in with_siblings(self._catalog(), self._declarations(), names) if name not in self._pins
        ]
        if wanted:
            pin = self._pin
            self._pins |= pinned_tables(self._catalog(), wanted, pin) if pin else read_group(self._catalog(), wanted)
        for name in names:
            if (snapshot_id := self._pins[name].snapshot_id) is not None:
                self._snapshots[name] = snapshot_id
        return {name: self._pins[name] for name in names}

    def release(self, group: str) -> OpenRelease:
        """The current release of a group, for the rest of the step."""
        self.follow_step()
        if group not in self._releases:
            # A table that is read at `main` as well has one place in the seal: whichever was read last.
            self._releases[group] = open_release(self._catalog(), group, on_read=self._snapshots.__setitem__)
        return self._releases[group]

    def parameters(self, context: StepContext, settings: Settings) -> UsedParameters:
        """The run's parameters, and which of them were read."""
        self.follow_step()
        if self._parameters is None:
            self._parameters = UsedParameters("The asset", run_parameters(context.run, settings))
        return self._parameters

    def written(self, name: str) -> None:
        """What is read of a table from here on is what was written."""
        if self._pins.pop(name, None) is not None and self._pin is not None:
            release_pins(self._catalog(), [name], self._pin)

    def follow_step(self) -> None:
        """Forget what an earlier step of this process has pinned and read."""
        step = self._given_step or _running_step()
        if step != self._step:
            self.let_go()
            self._step, self._pin = step, pin_of(*step) if step else None

    @contextmanager
    def in_step(self, run_id: str, op_handle: str, retry: int) -> Generator[None]:
        """Read in the name of a step whose function does not run now."""
        self._given_step = (run_id, op_handle, retry)
        try:
            yield
        finally:
            self._given_step = None

    def let_go(self) -> None:
        """Forget what a step has pinned and read, and remove its tags: it has ended."""
        if self._pin is not None and self._pins:
            release_pins(self._catalog(), self._pins, self._pin)
        self._step, self._pin, self._pins, self._releases, self._snapshots = None, None, {}, {}, {}
        self._parameters = None


def _running_step() -> tuple[str, str, int] | None:
    try:
        current = OpExecutionContext.get()
    except DagsterInvariantViolationError:  # outside a run: a notebook, a test, a sensor
        return None
    return current.run_id, str(current.op_handle), current.retry_number
