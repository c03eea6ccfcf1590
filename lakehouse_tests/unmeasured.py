"""Coverage is that of tests without servers: those with servers are not slowed down by it, and do not count."""

from collections.abc import Generator

import pytest
from coverage import Coverage

SERVERS = ("slow", "browser", "kill", "rest", "kafka", "spark")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Measure nothing from a test's set-up to its tear-down, where it needs a server."""
    measured = Coverage.current()
    if measured is None or not any(item.get_closest_marker(mark) for mark in SERVERS):
        return (yield)
    measured.stop()
    try:
        return (yield)
    finally:
        measured.start()
