"""The command as a process: its verbs, and what its start costs."""

import subprocess
import sys


def test_python_can_run_the_package() -> None:
    done = subprocess.run([sys.executable, "-m", "lakehouse", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("lakehouse ")


def test_the_collector_rests_while_verbs_are_imported() -> None:
    program = "import gc, sys; sys.argv[1:] = ['--version']\n"
    program += "from lakehouse.__main__ import main\n"
    program += "try: main()\nfinally: print(gc.get_freeze_count() > 100_000, gc.get_stats()[2]['collections'])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    *_, frozen, collections = done.stdout.split()
    assert (frozen, collections) == ("True", "0"), done
