"""A step of a derived table in a process of its own, to be killed: `python -m …derive_child <JSON>`."""

import json
import sys
from pathlib import Path

from lakehouse.catalog import open_catalog
from lakehouse.settings import CatalogSettings, IngestSettings, KafkaSettings, Platform, Settings
from lakehouse.spark import spark_session
from lakehouse.state import State
from lakehouse_tests.derived.workshop import Workshop
from lakehouse_tests.fixtures.spark import REPOSITORY


def main() -> None:
    told = json.loads(sys.argv[1])
    catalog = CatalogSettings.model_validate(told["catalog"])
    settings = Settings(
        conf=REPOSITORY / "conf",
        state=State(Path(told["home"])),
        platform=Platform.model_validate(told["platform"]),
        catalog=catalog,
        kafka=KafkaSettings(bootstrap_servers="127.0.0.1:1"),
        ingest=IngestSettings(),
        declarations=(),
    )
    workshop = Workshop(
        open_catalog(catalog), catalog, told["namespace"], lambda _: spark_session(settings, app_name="child")
    )
    workshop.declare_raw()
    print(workshop.run(workshop.derived("totals"), run=told["run"]).snapshot_id)


if __name__ == "__main__":
    main()
