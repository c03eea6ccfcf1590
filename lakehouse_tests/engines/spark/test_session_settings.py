"""Settings for a part of a step: none of them outlives it."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import cast

import pytest
from pyspark.sql import SparkSession

from lakehouse.engines.spark import interpreted, set_for, single_job

ADAPTIVE, CODEGEN = "spark.sql.adaptive.enabled", "spark.sql.codegen.wholeStage"


class Conf(dict[str, str]):
    """As much of a session's configuration as is used."""

    def set(self, key: str, value: str) -> None:
        self[key] = value

    def unset(self, key: str) -> None:
        del self[key]


class Session:
    def __init__(self, **settings: str) -> None:
        self.conf = Conf(settings)


def _session(**settings: str) -> SparkSession:
    return cast("SparkSession", Session(**settings))


def test_what_was_set_comes_back_and_what_was_not_is_not() -> None:
    session = _session(a="1")
    with set_for(session, {"a": "2", "b": "3"}):
        assert session.conf == {"a": "2", "b": "3"}
    assert session.conf == {"a": "1"}


@pytest.mark.parametrize("block", [single_job, interpreted])
def test_a_failure_leaves_nothing_set(block: Callable[[SparkSession], AbstractContextManager[None]]) -> None:
    session = _session()

    def fail() -> None:
        with block(session):
            assert session.conf.get(ADAPTIVE) == "false"
            raise KeyError("rows")

    with pytest.raises(KeyError, match="rows"):
        fail()
    assert not session.conf


def test_many_rows_are_compiled() -> None:
    session = _session()
    with interpreted(session):
        assert session.conf.get(CODEGEN) == "false"
    with interpreted(session, when=False):
        assert not session.conf
