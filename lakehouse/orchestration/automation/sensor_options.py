"""Which sensors run without being switched on, how often they look, and for how long few records wait."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from dagster import DefaultSensorStatus

from lakehouse.declarations import Stream
from lakehouse.settings import Settings

BRANCH_VARIABLE = "DAGSTER_CLOUD_IS_BRANCH_DEPLOYMENT"


@dataclass(frozen=True)
class SensorOptions:
    """What sensors are made with.

    Attributes:
        status: of those that start runs and keep the log, where nobody has switched them on or off.
        maintenance_status: of the one that starts maintenance, and so deletes.
        every_seconds: how often sensors of streams and mirrors look.
        patience: how old an unread record may be before a run is started for few of them.
        enough_records: so many unread records start a run, however young they are.
    """

    status: DefaultSensorStatus = DefaultSensorStatus.RUNNING
    maintenance_status: DefaultSensorStatus = DefaultSensorStatus.STOPPED
    every_seconds: int = 5
    patience: timedelta = timedelta(seconds=5)
    enough_records: int = 10_000

    @classmethod
    def of(cls, settings: Settings, environ: Mapping[str, str] = os.environ) -> "SensorOptions":
        """As the settings say; in a branch deployment of Dagster+ nothing starts, whatever they say.

        Args:
            settings: with their part on automation.
            environ: in which Dagster+ names a branch deployment.
        """
        wanted = settings.automation
        starts = wanted.start and environ.get(BRANCH_VARIABLE) != "1"
        return cls(
            status=_status(starts),
            maintenance_status=_status(starts and wanted.start_maintenance),
            every_seconds=wanted.every_seconds,
            patience=timedelta(seconds=wanted.patience_seconds),
            enough_records=wanted.enough_records,
        )

    def for_stream(self, stream: Stream) -> "SensorOptions":
        """The same, but for what the stream's own trigger says."""
        trigger = stream.trigger
        return replace(
            self,
            every_seconds=self.every_seconds if trigger.every is None else int(trigger.every.total_seconds()),
            patience=self.patience if trigger.patience is None else trigger.patience,
            enough_records=self.enough_records if trigger.enough_records is None else trigger.enough_records,
        )


def _status(running: bool) -> DefaultSensorStatus:  # noqa: FBT001
    return DefaultSensorStatus.RUNNING if running else DefaultSensorStatus.STOPPED


DEFAULT_OPTIONS = SensorOptions()
