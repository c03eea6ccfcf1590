"""A played Polaris, and what `conf/polaris/example.yaml` declares, there."""

import fcntl
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lakehouse.polaris import (
    PolarisApi,
    PolarisServer,
    apply_polaris,
    load_polaris,
    plan_polaris,
    survey,
    wanted,
)
from lakehouse.polaris.applying import file_for
from lakehouse_tests.polaris.played_server import ROOT, ROOT_SECRET, PlayedPolaris

REPOSITORY = Path(__file__).parents[2]
EXAMPLE = REPOSITORY / "conf" / "polaris" / "example.yaml"
LOCK = Path(__file__).with_name("client.lock")


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> Iterator[PlayedPolaris]:
    monkeypatch.setenv("POLARIS_ADMIN", f"{ROOT}:{ROOT_SECRET}")
    with PlayedPolaris() as server:
        yield server


@pytest.fixture
def declare(tmp_path: Path, played: PlayedPolaris) -> Callable[..., PolarisServer]:
    """Declare the example at the played server, with texts replaced."""

    def declare(*replaced: tuple[str, str]) -> PolarisServer:
        text = EXAMPLE.read_text()
        for before, after in (*_addresses(played.url), *replaced):
            assert before in text
            text = text.replace(before, after)
        folder = tmp_path / "conf" / "polaris"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "example.yaml").write_text(text)
        return load_polaris(folder.parent, "example")

    return declare


@pytest.fixture
def applied(played: PlayedPolaris, server: PolarisServer, api: PolarisApi, tmp_path: Path) -> PlayedPolaris:
    """The played server as the example says."""
    differences = plan_polaris(wanted(server), survey(api, server))
    apply_polaris(api, differences, file_for(differences, tmp_path / "secrets"))
    return played


def _addresses(url: str) -> tuple[tuple[str, str], ...]:
    return (("uri: https://polaris.example", f"uri: {url}"), ("health: http://polaris.example:8182", f"health: {url}"))


@pytest.fixture
def server(declare: Callable[..., PolarisServer]) -> PolarisServer:
    return declare()


@pytest.fixture
def api(server: PolarisServer) -> PolarisApi:
    return PolarisApi(server)


@pytest.fixture(scope="session")
def polaris_client() -> Path:
    """A folder with Polaris' own client, by its lock; brought once."""
    folder = REPOSITORY / ".lakehouse" / "polaris-client"
    kept = folder / "client.lock"
    folder.parent.mkdir(exist_ok=True)
    with folder.with_suffix(".lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        if not kept.exists() or kept.read_text() != LOCK.read_text():
            shutil.rmtree(folder, ignore_errors=True)
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
            subprocess.run(
                [*pip, "--only-binary", ":all:", "--target", str(folder), "-r", str(LOCK)], check=True, timeout=240
            )
            shutil.copy(LOCK, kept)
    return folder
