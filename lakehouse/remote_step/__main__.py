"""What a submitted driver runs. What to do comes by Dagster Pipes, and so does what it answers."""

import sys
from pathlib import Path

# As a file of `spark-submit` this folder would be the first in which Python looks for modules.
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).resolve().parent]


def main() -> int:
    """Do the step, and report; 0 if it succeeded."""
    from lakehouse.garbage import uncollected

    with uncollected():
        from dagster_pipes import open_dagster_pipes

        from lakehouse.remote_step.step import do_step
    with open_dagster_pipes() as pipes:
        done = do_step(pipes)
    return 0 if done else 1


if __name__ == "__main__":
    sys.exit(main())
