"""No process of a system under test escapes the count: children, grandchildren, dead ones, orphans."""

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.accounting import cpu_seconds

pytestmark = pytest.mark.slow

BURN = (
    "import time\nend = time.process_time() + 0.4\nwhile time.process_time() < end: pass\nopen({mark!r}, 'w').close()\n"
)
PARENT = "import os, subprocess, sys, time\npython = [sys.executable, '-c']\n"
WAIT = "while not os.path.exists(MARK): time.sleep(0.01)\n"
TREES = {
    "itself": "exec(BURN)\n",
    "a dead child": "subprocess.run([*python, BURN], check=True)\n",
    "a living child": (
        f"child = subprocess.Popen([*python, BURN + 'import sys; sys.stdin.read()'], stdin=subprocess.PIPE)\n{WAIT}"
    ),
    "a child that nobody has waited for": f"child = subprocess.Popen([*python, BURN])\n{WAIT}",
    "an orphan": (
        "leaves = f'import subprocess; subprocess.Popen({[*python, BURN]!r})'\n"
        f"subprocess.run([*python, leaves], check=True)\n{WAIT}"
    ),
}


@pytest.mark.parametrize("tree", TREES)
def test_all_cpu_time_is_found(tree: str, tmp_path: Path) -> None:
    mark = str(tmp_path / "burnt")
    burn = BURN.format(mark=mark)
    program = (
        "from benchmarks.accounting import adopt_orphans\nimport sys\nadopt_orphans()\n"
        "print('ready', flush=True); sys.stdin.readline()\n"
        f"{PARENT}MARK = {mark!r}\nBURN = {burn!r}\n{TREES[tree]}"
        "print('done', flush=True); sys.stdin.read()\n"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as root:
        assert root.stdin is not None
        assert root.stdout is not None
        root.stdout.readline()
        before = cpu_seconds(root.pid)
        root.stdin.write("\n")
        root.stdin.flush()
        assert root.stdout.readline() == "done\n"
        used = cpu_seconds(root.pid) - before
    assert 0.38 <= used < 1.5
