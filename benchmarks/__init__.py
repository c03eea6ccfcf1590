"""Ours against plain Structured Streaming and the Iceberg Kafka Connect sink: `make bench`."""
