"""What an ingest step does, as plain functions: plan, read once, route, judge, write, stage, seal, audit, publish."""
