"""`python -m lakehouse_tests.timings FOLDER` prints where the time of a run went, as `make timings` does."""

import sys
from pathlib import Path

from lakehouse_tests.timings.report import Timings, report

timings = Timings.read(Path(sys.argv[1]))
if not timings.phases:
    sys.exit(f"{sys.argv[1]} holds no timings: write them with `pytest --timings={sys.argv[1]}`.")
print(report(timings))
