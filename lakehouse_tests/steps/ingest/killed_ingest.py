"""An ingest in a process of its own, to be killed at a named point: `python -m …killed_ingest <JSON>`."""

import json
import sys

from lakehouse.declarations import Declarations, Stream
from lakehouse.engines.spark import spark_session
from lakehouse.protocol.catalog import open_catalog
from lakehouse_tests.declarations.declaring import declare
from lakehouse_tests.fixtures.child import settings_of_child
from lakehouse_tests.steps.ingest.conftest import BY_KIND, THINGS, Landing


def main() -> None:
    arguments = json.loads(sys.argv[1])
    settings = settings_of_child(arguments)
    stream = Stream(name="things", topic=arguments["topic"], route=BY_KIND, max_quarantine_share=1.0)
    landing = Landing(
        stream,
        Declarations({}, {}, {}),
        open_catalog(settings.catalog),
        settings.kafka,
        settings.catalog,
        lambda _: spark_session(settings, app_name="killed"),
    )
    landing.declare(stream, *(declare(dict(THINGS), name=name) for name in BY_KIND.tables)).ingest(run_id="killed")


if __name__ == "__main__":
    main()
