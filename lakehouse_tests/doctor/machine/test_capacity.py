import socket
from pathlib import Path

import pytest

from lakehouse.doctor.machine.capacity import GIB, disk, java, ports, room
from lakehouse.settings import load_settings
from lakehouse_tests.fixtures.spark import REPOSITORY


@pytest.mark.parametrize(("free", "state"), [(GIB // 2, "wrong"), (2 * GIB, "warning"), (9 * GIB, "well")])
def test_a_full_disk_is_named(free: int, state: str) -> None:
    assert room(Path("/lake"), free).state == state


def test_a_port_of_another_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        variables = {"LAKEHOUSE__KAFKA__BOOTSTRAP_SERVERS": f"127.0.0.1:{port}", "LAKEHOUSE_HOME": str(tmp_path)}
        settings = load_settings(REPOSITORY / "conf", variables)
        (finding,) = ports(settings)
        assert (finding.state, f"Port {port} is taken" in finding.message) == ("wrong", True)
    (free,) = ports(settings)
    assert free.state == "well"
    assert len(list(disk(settings))) == 1


def test_no_java_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    (finding,) = java(load_settings(REPOSITORY / "conf", {}))
    assert (finding.state, "No Java" in finding.message, finding.remedy != "") == ("wrong", True, True)
