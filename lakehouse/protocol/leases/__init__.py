"""Leases: who reads a table in ranges of snapshots, so that nothing newer goes."""
