"""The process of a Spark system: `python -m benchmarks.spark_worker <module> <settings.json>`."""

import importlib
import json
import os
import sys
from pathlib import Path

from benchmarks.accounting import adopt_orphans
from lakehouse.engines.spark import spark_session
from lakehouse.settings import Settings


def main(name: str, settings: Settings) -> None:
    """Answer requests until the input ends."""
    adopt_orphans()
    # What anybody prints goes to the log; the answers have the pipe for themselves.
    with os.fdopen(os.dup(1), "w") as answers:
        os.dup2(2, 1)
        system = importlib.import_module(f"benchmarks.{name}")
        with spark_session(settings, app_name=name) as session:
            print("{}", file=answers, flush=True)
            for line in sys.stdin:
                answer = system.answer(session, settings, **json.loads(line))
                print(json.dumps(answer or {}), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Settings.model_validate_json(Path(sys.argv[2]).read_text()))
