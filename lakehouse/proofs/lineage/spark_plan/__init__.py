"""Reads from Spark's printed plan which columns of which snapshots a frame is computed from."""
