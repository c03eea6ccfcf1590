"""Dagster's log of a run, reduced to what a person wants to watch."""

import logging
import time

import dagster as dg
from rich.console import Console
from typing_extensions import override

# Dagster's own events come with the run's log; their interesting ones are told by the report.
_LEVEL = logging.INFO
# Checks wait for new rows; where there are none, the command asks for them on their own.
_NOISE = "Skipping step"


class Watching(logging.Handler):
    """Prints what steps say, with the seconds since the run began; errors in red."""

    def __init__(self, console: Console) -> None:
        """Print to this console."""
        super().__init__(_LEVEL)
        self._console = console
        self._began = time.monotonic()

    @override
    def emit(self, record: logging.LogRecord) -> None:
        metadata = getattr(record, "dagster_meta", {})
        text = str(metadata.get("orig_message", record.getMessage()))
        event: dg.DagsterEvent | None = metadata.get("dagster_event")
        if event is not None and tells_of_interrupt(event):
            return  # Dagster calls it a failure; the command says what it is
        if record.levelno < logging.ERROR and (event is not None or text.startswith(_NOISE)):
            return
        seconds = time.monotonic() - self._began
        style = "red" if record.levelno >= logging.ERROR else "dim"
        line = f"{seconds:6.1f} s  {text}"
        self._console.print(line, style=style, markup=False, highlight=False, soft_wrap=True)


def tells_of_interrupt(event: dg.DagsterEvent) -> bool:
    """Whether an event says that a signal ended its step or run, for which Dagster has only failures."""
    if event.event_type is dg.DagsterEventType.STEP_FAILURE:
        error = event.step_failure_data.error
        return error is not None and error.cls_name == dg.DagsterExecutionInterruptedError.__name__
    if event.event_type is dg.DagsterEventType.RUN_FAILURE:
        reason = event.job_failure_data.failure_reason
        return reason is not None and reason.value == "UNEXPECTED_TERMINATION"
    return False


def watching(console: Console) -> dg.LoggerDefinition:
    """A logger that replaces Dagster's own on the terminal."""

    def console_logger(_: dg.InitLoggerContext) -> logging.Logger:
        logger = logging.Logger("lakehouse.run", _LEVEL)
        logger.addHandler(Watching(console))
        return logger

    return dg.LoggerDefinition(console_logger, description="The command's progress.")
