"""A rewrite in a process of its own, to be killed: `python -m lakehouse_tests.steps.maintenance.compact_child <JSON>`.

It is a client of a Spark Connect server, as in production. The last line of its output is the result.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from lakehouse.engines.spark import spark_session
from lakehouse.protocol.catalog import open_catalog
from lakehouse.settings import CatalogSettings, Settings
from lakehouse_tests.fixtures.child import settings_of_child
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.steps.maintenance.rewriting import Events, declared_events


def compact_and_die(catalog: CatalogSettings, connect: Settings, log: Path, point: str) -> int:
    """Start it, let it be killed at a failpoint, and return its exit code."""
    arguments = {
        "catalog": catalog.model_dump(mode="json"),
        "home": str(connect.state.root),
        "platform": connect.platform.model_dump(),
    }
    with log.open("wb") as out:
        child = subprocess.run(
            [sys.executable, "-m", "lakehouse_tests.steps.maintenance.compact_child", json.dumps(arguments)],
            env={**os.environ, "LAKEHOUSE_FAILPOINTS": f"{point}=kill"},
            start_new_session=True,
            stdout=out,
            stderr=out,
            timeout=240,
            check=False,
        )
    return child.returncode


def main() -> None:
    settings = settings_of_child(json.loads(sys.argv[1]))
    lake = Lake(settings.catalog, open_catalog(settings.catalog), "upkeep", None)
    events = Events(lake, lambda _: spark_session(settings, app_name="child"), declared_events())
    print(events.compact().result)


if __name__ == "__main__":
    main()
