"""Frames that plain assets return and take: stored as tables, without a declaration, and loaded again."""

from lakehouse.orchestration.frames.io_manager import frame_io_manager

__all__ = ["frame_io_manager"]
