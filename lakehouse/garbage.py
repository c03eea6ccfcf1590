"""Imports without the garbage collector: it would look at all modules again and again, and they stay anyway.

Half of what a command costs that only looks is Python's collector going through what was just imported.
"""

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Generator[None]:
    """Let the collector rest meanwhile, and never look at what is there at the end (`gc.freeze`)."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_enabled:
            gc.enable()
