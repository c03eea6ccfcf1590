"""The command as a process: its verbs, and what its start costs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lakehouse.cli.exit_codes import COULD_NOT_RUN, READER_GONE


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


def _ends(words: str, *, redirect: str = "", environ: dict[str, str] | None = None) -> tuple[int, str]:
    """The exit code and what was printed to either stream, of a shell's command."""
    command = f'exec "{sys.executable}" -m lakehouse {words} {redirect}'
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=Path(__file__).parents[1],
        env={**os.environ, **(environ or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("columns", ["0", "1"])
def test_something_is_shown_whatever_the_terminal_says_of_its_width(columns: str) -> None:
    code, shown = _ends("nonsense", environ={"COLUMNS": columns})
    assert code == COULD_NOT_RUN
    assert "No such command 'nonsense'." in shown


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_who_closes_a_stream_gets_what_goes_to_the_others(closed: str) -> None:
    code, shown = _ends("--version", redirect=closed)
    assert code == 0
    assert ("lakehouse " in shown) == (" >&-" not in f" {closed}")
    assert "Traceback" not in shown


def test_no_file_gets_the_number_of_a_closed_stream() -> None:
    program = "import os\nfrom lakehouse.__main__ import _open_what_is_closed\n_open_what_is_closed()\n"
    program += "with open('/dev/null') as file: raise SystemExit(file.fileno() < 3)"
    command = f'exec "{sys.executable}" -c "{program}" <&- >&- 2>&-'
    assert subprocess.run(["bash", "-c", command], check=False).returncode == 0


@pytest.mark.parametrize("words", ["--version", "--help", "plan --help", "catalog env --json"])
def test_a_full_disk_behind_the_output_is_called_so(words: str, tmp_path: Path) -> None:
    """It is not the disk of the lake, which may have room."""
    code, shown = _ends(words, redirect="2>&1 >/dev/full", environ={"LAKEHOUSE_HOME": str(tmp_path)})
    assert code == COULD_NOT_RUN
    assert shown == "error: The output cannot be written: No space left on device. Remedy: send it elsewhere\n"


def test_what_cannot_say_why_it_fails_breaks_no_promise() -> None:
    assert _ends("--conf /nowhere tables", redirect="2>/dev/full") == (COULD_NOT_RUN, "")


@pytest.mark.parametrize("words", ["--help", "plan --help"])
def test_who_stops_reading_a_help_breaks_no_promise(words: str) -> None:
    # `true` ends before a Python has begun: its end of the pipe is closed by then.
    reader = f'"{sys.executable}" -m lakehouse {words} | true; exit ${{PIPESTATUS[0]}}'
    done = subprocess.run(["bash", "-c", reader], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (READER_GONE, b"")


def test_an_interrupt_while_verbs_are_imported_is_no_traceback() -> None:
    program = "import sys\nfrom lakehouse import __main__\n"
    program += "class Interrupt:\n def find_spec(self, name, *_):\n"
    program += "  if name == 'lakehouse.cli': raise KeyboardInterrupt\n"
    program += "sys.meta_path.insert(0, Interrupt())\n__main__.main()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (130, b"")
