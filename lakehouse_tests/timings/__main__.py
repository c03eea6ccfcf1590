"""`python -m lakehouse_tests.timings [FOLDER]` prints where the time of a run went, as `make timings` does."""

import argparse
import sys
from pathlib import Path

from lakehouse_tests.timings.report import Timings, report

parser = argparse.ArgumentParser(prog="python -m lakehouse_tests.timings", description="Where the time of a run went.")
parser.add_argument("folder", nargs="?", type=Path, default=Path(".lakehouse/timings"), help="%(default)s by default")
folder: Path = parser.parse_args().folder
if not folder.is_dir():
    sys.exit(
        f"There is no folder {folder}: `make timings` writes .lakehouse/timings, `pytest --timings=FOLDER` another."
    )
timings = Timings.read(folder)
if not timings.phases:
    sys.exit(f"{folder} holds no timings: write them with `make timings`, or with `pytest --timings={folder}`.")
print(report(timings))
