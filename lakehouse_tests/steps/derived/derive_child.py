"""A step of a derived table in a process of its own, to be killed: `python -m …derive_child <JSON>`."""

import json
import sys

from lakehouse.engines.spark import spark_session
from lakehouse.protocol.catalog import open_catalog
from lakehouse_tests.fixtures.child import settings_of_child
from lakehouse_tests.steps.derived.workshop import Workshop


def main() -> None:
    arguments = json.loads(sys.argv[1])
    settings = settings_of_child(arguments)
    workshop = Workshop(
        open_catalog(settings.catalog),
        settings.catalog,
        arguments["namespace"],
        lambda _: spark_session(settings, app_name="child"),
    )
    workshop.declare_raw()
    print(workshop.run(workshop.derived("totals"), run=arguments["run"]).snapshot_id)


if __name__ == "__main__":
    main()
