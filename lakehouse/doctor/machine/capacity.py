"""What this machine has to have: Java, room on its disk, ports that are free or ours."""

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

from lakehouse.doctor.finding import Diagnosis, refused, warning, well, wrong
from lakehouse.doctor.machine.addresses import port_of
from lakehouse.engines.java import JavaUnusable, require_java
from lakehouse.engines.kafka.local.local_broker import LocalBroker
from lakehouse.engines.spark.connect.client import Remote
from lakehouse.settings import Settings

GIB = 1024**3
LEAST, ENOUGH = GIB, 5 * GIB  # free bytes: Spark spills and compaction writes anew


def java(settings: Settings) -> Iterator[Diagnosis]:
    """Java, where Spark or a broker is ours to start."""
    if settings.platform.master is None and not settings.kafka.local:
        return
    try:
        require_java()
    except JavaUnusable as error:
        yield refused("java", error)
    else:
        yield well("java", "there is a Java that Spark can run on")


def disk(settings: Settings) -> Iterator[Diagnosis]:
    """Room where the state lies."""
    folder = settings.state.root
    while not folder.exists():
        folder = folder.parent
    yield room(folder, shutil.disk_usage(folder).free)


def room(folder: Path, free: int) -> Diagnosis:
    """How so much room is.

    Args:
        folder: where.
        free: bytes.
    """
    message, remedy = f"{free / GIB:.1f} GiB are free at {folder}", "make room, or set LAKEHOUSE_HOME to another disk"
    if free < LEAST:
        return wrong("disk", f"Only {message}.", remedy)
    return warning("disk", f"Only {message}.", remedy) if free < ENOUGH else well("disk", message)


def ports(settings: Settings) -> Iterator[Diagnosis]:
    """Ports that servers of ours want."""
    if settings.kafka.local:
        port = port_of(settings.kafka.bootstrap_servers)
        if port is not None:  # otherwise a finding of the addresses
            ours = LocalBroker.of(settings).running()
            yield _port("kafka port", port, ours=ours, key="bootstrap_servers in its file of conf/kafka")
    if settings.platform.remote is not None and settings.platform.master is not None:
        remote = Remote.of(settings)
        if remote.here and not remote.answers(1):
            yield _port("spark port", remote.port, ours=False, key="remote in its file of conf/platforms")


def _port(check: str, port: int, *, ours: bool, key: str) -> Diagnosis:
    if ours:
        return well(check, f"the server of ours listens on {port}")
    with socket.socket() as probe:
        probe.settimeout(1)
        taken = probe.connect_ex(("127.0.0.1", port)) == 0
    if taken:
        return wrong(check, f"Port {port} is taken by another program.", f"stop that, or change {key}")
    return well(check, f"port {port} is free")
