"""Dagster's services as `lakehouse dev` runs them: the UI answers its own page and local programs alone."""
