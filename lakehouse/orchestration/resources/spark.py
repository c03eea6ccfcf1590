"""Spark for Dagster: one driver per run, a session per step, and nothing left when the run ends."""

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from dagster import InitResourceContext
from dagster_pyspark import LazyPySparkResource
from pydantic import Field, PrivateAttr
from pyspark.sql import SparkSession
from typing_extensions import override

from lakehouse.engines.spark import spark_session
from lakehouse.settings import Settings, load_settings


class LakehouseSpark(LazyPySparkResource):
    """dagster-pyspark's resource by interface (`spark_session`); its sessions are configured by `conf/`, and they end.

    The resource holds the name of a folder, never settings: what Dagster stores and shows of it is free of secrets.

    Attributes:
        conf: the folder of settings.
        spark_config: not used; platforms are files in `conf/platforms`.
    """

    conf: str
    spark_config: dict[str, Any] = Field(default_factory=dict[str, Any])
    _undo: ExitStack = PrivateAttr(default_factory=ExitStack)
    _own: SparkSession | None = PrivateAttr(default=None)
    _read: Settings | None = PrivateAttr(default=None)

    @contextmanager
    def session(self, app_name: str = "lakehouse") -> Generator[SparkSession]:
        """A session for one step, with the catalog `lake`.

        The first one starts the driver, which later steps of the same run share; on Connect there is no driver of ours.

        Raises:
            LakehouseError: Spark could not be started or reached; see `lakehouse.engines.spark`.
        """
        settings = self._settings()
        if settings.platform.mode != "connect":
            _ = self.spark_session
        with spark_session(settings, app_name=app_name) as session:
            yield session

    @property
    @override
    def spark_session(self) -> SparkSession:
        """One session that stays open until the run ends; `session()` is what a step of ours uses."""
        if self._own is None:
            self._own = self._undo.enter_context(spark_session(self._settings(), app_name="lakehouse"))
        return self._own

    @property
    @override
    def spark_context(self) -> Any:
        """Not offered: Spark Connect has none, so code that uses it would run on one kind of platform only."""
        raise AttributeError("LakehouseSpark has no spark_context: Spark Connect has none; use session().")

    @override
    def teardown_after_execution(self, context: InitResourceContext) -> None:
        """End the driver with the run, also with one that failed or was cancelled."""
        self._own = None
        self._undo.close()

    def _settings(self) -> Settings:
        if self._read is None:
            self._read = load_settings(Path(self.conf))
        return self._read
