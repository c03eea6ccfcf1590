"""No process of a system under test escapes the count: children, grandchildren, dead ones, orphans."""

import subprocess
import sys

import pytest

from benchmarks.accounting import cpu_seconds

pytestmark = pytest.mark.slow

BURN = "import time\nend = time.process_time() + 0.4\nwhile time.process_time() < end: pass\n"
PARENT = "import subprocess, sys, time\npython = [sys.executable, '-c']\n"
TREES = {
    "itself": BURN,
    "a dead child": "subprocess.run([*python, BURN], check=True)\n",
    "a living child": (
        "child = subprocess.Popen([*python, BURN + 'import sys; sys.stdin.read()'], stdin=subprocess.PIPE)\n"
        "time.sleep(1.5)\n"
    ),
    "a child that nobody has waited for": "child = subprocess.Popen([*python, BURN])\ntime.sleep(1.5)\n",
    "an orphan": (
        "leaves = f'import subprocess; subprocess.Popen({[*python, BURN]!r})'\n"
        "subprocess.run([*python, leaves], check=True)\n"
        "time.sleep(1.5)\n"
    ),
}


@pytest.mark.parametrize("tree", TREES)
def test_all_cpu_time_is_found(tree: str) -> None:
    program = (
        "from benchmarks.accounting import adopt_orphans\nimport sys\nadopt_orphans()\n"
        "print('ready', flush=True); sys.stdin.readline()\n"
        f"{PARENT}BURN = {BURN!r}\n{TREES[tree]}"
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
