"""The wheel alone, in an environment without the clone: `lakehouse init`, and all that follows in one's own project.

The environment has the locked packages, by a path file, and the wheel's files; nothing of the clone. So it needs no
network. `docs/how-to/own-project.md` says the same with pip.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

from lakehouse_tests.fixtures.broker import REPOSITORY, state_with_jars
from lakehouse_tests.fixtures.environ import clean_environ
from lakehouse_tests.fixtures.spark import free_port

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@dataclass(frozen=True)
class Installed:
    """An environment that holds the wheel.

    Attributes:
        python: its interpreter.
        site: where its packages are.
        folder: an empty folder to work in.
    """

    python: Path
    site: Path
    folder: Path

    def run(self, *command: str, exit_code: int = 0, **environ: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the environment; it must end as is expected."""
        given = clean_environ(PATH=f"{self.python.parent}{os.pathsep}{os.environ['PATH']}", COLUMNS="160", **environ)
        done = subprocess.run(command, cwd=self.folder, env=given, capture_output=True, text=True, check=False)
        assert done.returncode == exit_code, done.stdout + done.stderr
        return done


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from what git knows, as from a fresh clone."""
    sources, out = tmp_path_factory.mktemp("sources"), tmp_path_factory.mktemp("dist")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (REPOSITORY / name).is_symlink() or (REPOSITORY / name).is_file():
            (sources / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPOSITORY / name, sources / name, follow_symlinks=False)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-index"]
    subprocess.run([*pip, "--no-deps", "--no-build-isolation", "--wheel-dir", str(out), str(sources)], check=True)
    return next(out.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    root = tmp_path_factory.mktemp("installed")
    venv.create(root / "venv", with_pip=False, symlinks=True)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(root / "venv")}))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    # Appended after the wheel, and its own path files, of which one leads to the clone, are not read.
    (site / "locked.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = root / "venv" / "bin" / "python"
    command = root / "venv" / "bin" / "lakehouse"
    command.write_text(f"#!{python}\nfrom lakehouse.__main__ import main\nmain()\n")
    command.chmod(0o755)
    (root / "work").mkdir()
    return Installed(python, site, root / "work")


@pytest.fixture(scope="module")
def shop(installed: Installed) -> Installed:
    installed.run("lakehouse", "init", "shop")
    return Installed(installed.python, installed.site, installed.folder / "shop")


def test_nothing_comes_from_the_clone(installed: Installed) -> None:
    program = "import lakehouse, sys; print(lakehouse.__file__); print(any(p == sys.argv[1] for p in sys.path))"
    printed = installed.run("python", "-c", program, str(REPOSITORY)).stdout.split()
    assert printed == [str(installed.site / "lakehouse" / "__init__.py"), "False"]
    assert not any(path.is_symlink() for path in (installed.site / "lakehouse" / "shipped").rglob("*"))


def test_outside_of_a_project_one_line_says_how_to_make_one(installed: Installed) -> None:
    done = installed.run("lakehouse", "plan", exit_code=2)
    assert "make one with `lakehouse init DIR`" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_new_project_loads_in_dagster_and_plans_its_tables(shop: Installed) -> None:
    program = (
        "from lakehouse.definitions import defs; print(*defs.resolve_asset_graph().get_all_asset_keys(), sep='\\n')"
    )
    assert "AssetKey(['shop', 'orders'])" in shop.run("python", "-c", program).stdout.splitlines()
    planned = json.loads(shop.run("lakehouse", "plan", "--json").stdout)
    assert "shop.orders" in json.dumps(planned)


def test_its_jars_come_from_a_folder_as_the_wheel_has_locked_them(shop: Installed, jars: Path) -> None:
    done = shop.run("lakehouse", "jars", LAKEHOUSE_JARS=str(jars))
    assert "JARs of spark verified" in done.stderr
    assert {path.name for path in (shop.folder / ".lakehouse" / "jars").glob("*/")} >= {"spark", "broker"}


@pytest.mark.soak
@pytest.mark.spark
@pytest.mark.kafka
def test_its_first_run_fills_the_example_and_its_second_adds_nothing(shop: Installed, jars: Path) -> None:
    state = state_with_jars(shop.folder.parent / "state", jars)
    environ = {
        "LAKEHOUSE_HOME": str(state.root),
        "LAKEHOUSE__KAFKA__BOOTSTRAP_SERVERS": f"127.0.0.1:{free_port()}",
    }
    first = shop.run("lakehouse", "run", **environ).stdout
    assert "3 messages of topic orders = 2 in shop.orders + 1 in quarantine.orders" in first
    assert "Next: `lakehouse dev`" in first
    assert "Nothing new" in shop.run("lakehouse", "run", **environ).stdout
    assert "Every promise holds" in shop.run("lakehouse", "audit", **environ).stdout
