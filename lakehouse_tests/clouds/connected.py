"""A Connect server with the JARs of a store: the driver of other tests has none of any cloud."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from lakehouse.engines.jars import fetch_jars
from lakehouse.engines.spark import ConnectServer
from lakehouse.settings import KafkaSettings, Platform, Settings
from lakehouse.settings.catalogs.storage import JARS_OF
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.spark import CONF, HANDFUL, REPOSITORY, free_port, settings_of


@contextmanager
def connected_to(
    lake: Lake, folder: Path, jars: Path, broker: KafkaSettings, conf: Mapping[str, str] | None = None
) -> Generator[Settings]:
    """Settings of a lakehouse whose Spark is that server; it is stopped at the end."""
    storage = lake.settings.file_storage
    assert storage is not None
    project = REPOSITORY / "conf" / "jars" / JARS_OF[storage]
    fetch_jars(project / "pom.xml", jars / project.name, project / "jars.sha256")
    platform = Platform(
        name="clouds",
        mode="connect",
        master="local[2]",
        remote=f"sc://127.0.0.1:{free_port()}",
        conf=CONF | HANDFUL | dict(conf or {}),
    )
    settings = settings_of(folder / "state", jars, platform, lake.settings)
    server = ConnectServer(settings)
    server.start()
    try:
        yield settings.model_copy(update={"kafka": broker})
    finally:
        server.stop()
