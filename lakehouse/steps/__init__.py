"""What a step does, without Dagster: ingest, mirror, derived table, release, maintenance."""
