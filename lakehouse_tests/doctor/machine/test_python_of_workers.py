import sys
import tarfile
from pathlib import Path

import pytest

from lakehouse.doctor.machine.python_of_workers import of_archive, of_interpreter, python_of_workers
from lakehouse.settings import Platform, WorkersSettings, load_settings
from lakehouse_tests.fixtures.spark import REPOSITORY

_OURS = f"{sys.version_info.major}.{sys.version_info.minor}"


def _interpreter(folder: Path, version: str) -> str:
    path = folder / "python"
    path.write_text(f"#!/bin/sh\necho Python {version}.1\n")
    path.chmod(0o755)
    return str(path)


def _states(platform: Platform) -> list[str]:
    settings = load_settings(REPOSITORY / "conf", {}).model_copy(update={"platform": platform})
    return [finding.state for finding in python_of_workers(settings)]


def test_another_python_on_the_worker_is_named(tmp_path: Path) -> None:
    finding = of_interpreter(_interpreter(tmp_path, "3.9"), here=True)
    assert (finding.state, f"is Python 3.9, and the driver is Python {_OURS}" in finding.message) == ("wrong", True)
    assert of_interpreter(_interpreter(tmp_path, _OURS), here=True).state == "well"


def test_one_that_is_not_there_is_wrong_only_where_workers_are_here() -> None:
    assert of_interpreter("/no/such/python", here=True).state == "wrong"
    assert of_interpreter("/no/such/python", here=False).state == "not asked"


@pytest.mark.parametrize(("version", "state"), [("3.9", "wrong"), (_OURS, "well")])
def test_a_packed_environment_says_its_version(tmp_path: Path, version: str, state: str) -> None:
    (tmp_path / f"lib/python{version}").mkdir(parents=True)
    packed = tmp_path / "env.tar.gz"
    with tarfile.open(packed, "w:gz") as archive:
        archive.add(tmp_path / "lib", "lib")
    assert [finding.state for finding in of_archive(packed)] == [state]
    workers = WorkersSettings(archive=str(packed))
    assert _states(Platform(name="cluster", mode="classic", master="spark://host:7077", workers=workers)) == [state]


def test_what_is_known_only_there_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
    assert _states(Platform(name="cluster", mode="classic", master="spark://host:7077")) == ["not asked"]
