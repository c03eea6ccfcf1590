"""Verbs about the environment that a lakehouse runs in: catalog, store, platform, Kafka."""
