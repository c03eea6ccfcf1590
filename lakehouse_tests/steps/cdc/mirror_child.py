"""A mirror's step in a process of its own, to be killed, held or raced: `python -m …mirror_child <JSON>`.

It is a client of a Spark Connect server, as in production. The last line of its output is `published`, `idle`, or the
name of the error.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Self

from lakehouse.declarations import Mirror, MirrorTables
from lakehouse.engines.spark import spark_session
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.errors import CommitError
from lakehouse.settings import Settings
from lakehouse.steps.cdc.refusals import MirrorRefused
from lakehouse_tests.fixtures.child import settings_of_child
from lakehouse_tests.steps.cdc.conftest import Feed, Mirrored, changelog_of

BUCKETS = ("bucket(4, id)",)


class MirrorChild:
    """A running step of `mirror.things`; whatever it started is gone on leaving."""

    def __init__(self, mirrored: Mirrored, connect: Settings, log: Path, failpoints: str, run_id: str) -> None:
        arguments = {
            "catalog": mirrored.settings.model_dump(mode="json"),
            "home": str(connect.state.root),
            "platform": connect.platform.model_dump(),
            "run_id": run_id,
        }
        self._log = log
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "lakehouse_tests.steps.cdc.mirror_child", json.dumps(arguments)],
                env={**os.environ, "LAKEHOUSE_FAILPOINTS": failpoints},
                start_new_session=True,
                stdout=out,
                stderr=out,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def ended(self) -> tuple[int, str]:
        """Exit code, and the last line of what it said."""
        code = self.process.wait(timeout=240)
        return code, (self._log.read_text().splitlines() or [""])[-1]


def main() -> None:
    arguments = json.loads(sys.argv[1])
    settings = settings_of_child(arguments)
    log = changelog_of()
    tables = MirrorTables(Mirror(name="mirror.things", changelog=log, partitioning=BUCKETS), log)
    mirrored = Mirrored(
        Feed(open_catalog(settings.catalog), log),
        tables,
        settings.catalog,
        lambda _: spark_session(settings, app_name="child"),
    )
    try:
        report = mirrored.run(run_id=arguments["run_id"])
    except (CommitError, MirrorRefused) as error:
        print(type(error).__name__)
    else:
        print("published" if report.published else report.kind)


if __name__ == "__main__":
    main()
