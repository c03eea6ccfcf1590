"""A process with a Spark job that never ends, for tests that end it: `<settings.json> <heartbeat file> <handler>`.

The handler is installed when the session is open, as Dagster does around each stretch of user code.
"""

import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import NoReturn

from lakehouse.engines.spark import spark_session
from lakehouse.settings import Settings


class Interrupted(BaseException):
    """What Dagster raises from its signal handler."""


def interrupted(_: int, frame: FrameType | None) -> NoReturn:
    raise Interrupted


def main(settings: Settings, heartbeat: str, handler: str) -> None:
    def beat(batches: Iterator[object]) -> Iterator[object]:
        while True:
            Path(heartbeat).write_text(str(time.time()))
            time.sleep(0.1)
        yield from batches

    with spark_session(settings, app_name="endless") as session:
        if handler == "own":
            signal.signal(signal.SIGTERM, interrupted)
            signal.signal(signal.SIGINT, interrupted)
        try:
            session.range(4, numPartitions=2).mapInArrow(beat, "id bigint").collect()  # pyright: ignore[reportArgumentType]
        finally:
            Path(f"{heartbeat}.finally").touch()


if __name__ == "__main__":
    try:
        main(Settings.model_validate_json(Path(sys.argv[1]).read_text()), *sys.argv[2:])
    except Interrupted:
        sys.exit(42)
