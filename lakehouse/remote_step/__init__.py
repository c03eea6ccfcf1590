"""One step in a driver of its own: `spark-submit` runs `__main__.py`, or `python -m lakehouse.remote_step` does."""
