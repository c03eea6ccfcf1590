"""A Dagster asset-based lakehouse: Kafka to Iceberg exactly once, proven from table metadata."""
