"""Dagster, thin: assets, checks, sensors and resources. What a step does is in `steps`."""
