"""Two sessions of one process on a Connect server do not get into each other's way."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from pyspark.sql.connect.session import SparkSession as RemoteSession

from lakehouse.engines.spark import spark_session
from lakehouse.settings import Settings

pytestmark = [pytest.mark.spark]


def test_two_sessions_of_one_process_each_have_their_checkpoints(connect_settings: Settings) -> None:
    """PySpark gives the later one's to the earlier, whose server side does not know them."""
    with spark_session(connect_settings, app_name="first") as first:
        with spark_session(connect_settings, app_name="second") as second:
            assert RemoteSession.getActiveSession() is second
            frames = [session.range(3).localCheckpoint() for session in (first, second, first)]
            assert [frame.sparkSession for frame in frames] == [first, second, first]
            assert [frame.count() for frame in frames] == [3, 3, 3]
            with ThreadPoolExecutor(1) as pool:
                assert pool.submit(lambda: second.range(4).localCheckpoint().count()).result() == 4
        assert RemoteSession.getActiveSession() is first
        assert first.range(5).localCheckpoint().count() == 5
