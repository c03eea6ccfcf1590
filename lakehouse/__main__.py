"""The `lakehouse` command as a process begins it; `python -m lakehouse` is the same."""

import os
import shutil
import sys

from lakehouse.garbage import uncollected

_INTERRUPTED = 130
_LEAST_COLUMNS = 60
"""In fewer a table shows nothing of some columns, and in none whatever is printed is nothing."""


def main() -> None:
    """Import all verbs, and do what the arguments say."""
    _open_what_is_closed()
    if shutil.get_terminal_size().columns < _LEAST_COLUMNS:
        os.environ["COLUMNS"] = str(_LEAST_COLUMNS)
    elif not os.environ.get("COLUMNS", "").strip("0 "):
        os.environ.pop("COLUMNS", None)  # a terminal of no size, as a container may have, is one whose size is unknown
    try:
        with uncollected():
            from lakehouse.cli import app
        app()
    except KeyboardInterrupt:  # before there is a command that could say something
        sys.exit(_INTERRUPTED)


def _open_what_is_closed() -> None:
    """Let standard streams that are closed lead nowhere, as after `>&-`.

    Else the next file to be opened, such as the catalog, has the number of one, and gets what is printed.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the smallest number that is free
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8", closefd=False))  # noqa: SIM115


if __name__ == "__main__":
    main()
