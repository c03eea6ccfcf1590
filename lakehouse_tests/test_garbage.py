"""While a command is imported nothing is collected, and afterwards all else is."""

import gc
import weakref

import pytest

from lakehouse.garbage import uncollected


class Node:
    """Something that only the collector can free."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def nothing_stays_frozen() -> object:
    yield
    gc.unfreeze()


def test_what_comes_later_is_collected() -> None:
    with uncollected():
        assert not gc.isenabled()
    assert gc.isenabled()
    assert gc.get_freeze_count() > 0
    later = weakref.ref(Node())
    gc.collect()
    assert later() is None


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with uncollected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
