"""The `lakehouse` command: what a person does to a running lakehouse. One module per verb, registered in `main`."""

from lakehouse.cli.main import app

__all__ = ["app"]
