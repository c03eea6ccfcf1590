"""How rows lie in files: partitions, sort order, writers, table properties."""
