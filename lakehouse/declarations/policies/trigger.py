"""When a stream is read, declared with it: what is not declared, the settings say for all streams."""

from dataclasses import dataclass
from datetime import timedelta

from lakehouse.declarations.columns.error import DeclarationError

_SECOND = timedelta(seconds=1)
_REMEDY = "write a timedelta of at least so long, a whole number above 0, or None for what the settings say."


@dataclass(frozen=True, kw_only=True)
class Trigger:
    """When a run of a stream is started, and how much it may take. None: as the settings say.

    Attributes:
        every: how often the sensor compares position and topic; at least a second.
        patience: how old an unread record may be before a run is started for few of them.
        enough_records: so many unread records start a run, however young they are.
        max_records_per_run: at most so many records; the rest waits for the next run.
    """

    every: timedelta | None = None
    patience: timedelta | None = None
    enough_records: int | None = None
    max_records_per_run: int | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot work.

        Raises:
            DeclarationError: names the field.
        """
        spans = {"every": (self.every, _SECOND), "patience": (self.patience, timedelta(0))}
        for name, (span, least) in spans.items():
            if span is not None and not (isinstance(span, timedelta) and span >= least):
                raise DeclarationError(f"Trigger.{name} is {span!r}, and has to be at least {least}.", remedy=_REMEDY)
        counts = {"enough_records": self.enough_records, "max_records_per_run": self.max_records_per_run}
        for name, count in counts.items():
            if count is not None and (type(count) is not int or count < 1):
                raise DeclarationError(f"Trigger.{name} is {count!r}, and has to be at least 1.", remedy=_REMEDY)
