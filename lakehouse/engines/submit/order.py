"""What a driver elsewhere is told: its folder, and which settings it reads there. No secret is among them."""

import json

from lakehouse.settings import Settings
from lakehouse.settings.models import RemoteDriver

FOLDER, ENVIRON = "--folder", "--environ"
SPARK = "4.1"  # the minor version that our code, PySpark and the JARs are of


def driver_arguments(settings: Settings, driver: RemoteDriver, folder: str) -> dict[str, str]:
    """Arguments of `python -m lakehouse.remote_step`.

    Args:
        settings: of Dagster's process.
        driver: what is where on the driver's machine.
        folder: of the job.
    """
    environ = {
        "LAKEHOUSE_CONF": driver.conf,
        "LAKEHOUSE_HOME": driver.home,
        "LAKEHOUSE_PLATFORM": settings.platform.name,
        # The driver runs the same assets, and must not submit them again.
        "LAKEHOUSE__PLATFORM__MODE": "driver",
    }
    return {FOLDER: folder, ENVIRON: json.dumps(environ)}
