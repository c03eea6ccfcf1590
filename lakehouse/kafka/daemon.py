"""Moved to `lakehouse.daemon`, below both rooms that start processes."""

from lakehouse.daemon import Daemon

__all__ = ["Daemon"]
