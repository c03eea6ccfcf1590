"""A Polaris server in Dagster: an asset that nobody makes, two checks, and when they run."""

from lakehouse.orchestration.polaris.schedule import polaris_schedule
from lakehouse.orchestration.polaris.server_checks import polaris_asset, polaris_checks

__all__ = ["polaris_asset", "polaris_checks", "polaris_schedule"]
