"""Logs of the command: to stderr, so that what a verb prints can be piped."""

import logging
import sys

import structlog


def configure_logs(*, verbose: bool) -> None:
    """Send structlog's lines to stderr; without `verbose` only what a person should worry about."""
    level = logging.DEBUG if verbose else logging.WARNING
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False),
            structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty()),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=_StderrLoggerFactory(),
        cache_logger_on_first_use=False,
    )


class _StderrLoggerFactory:
    """Looks up stderr for each logger: tests and progress bars put another stream in its place."""

    def __call__(self, *_: object) -> structlog.PrintLogger:
        return structlog.PrintLogger(sys.stderr)
