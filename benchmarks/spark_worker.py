"""The process of a Spark system: `python -m benchmarks.spark_worker <ours|streaming> <settings.json>`."""

import importlib
import json
import os
import sys
from pathlib import Path

from benchmarks.accounting import adopt_orphans
from benchmarks.declared import CASES
from lakehouse.settings import Settings
from lakehouse.spark import spark_session


def main(name: str, settings: Settings) -> None:
    """Answer requests until the input ends."""
    adopt_orphans()
    # What anybody prints goes to the log; the answers have the pipe for themselves.
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)
        system = importlib.import_module(f"benchmarks.{name}")
        with spark_session(settings, app_name=name) as session:
            print("done", file=answers, flush=True)
            for line in sys.stdin:
                request = json.loads(line)
                case = CASES[request["case"]]
                system.ingest_topic(
                    session, settings, case, request["namespace"], request["topic"], request["commit_records"]
                )
                print("done", file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Settings.model_validate_json(Path(sys.argv[2]).read_text()))
