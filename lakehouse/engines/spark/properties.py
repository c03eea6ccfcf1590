"""A properties file for `spark-submit`, because what is passed with `--conf` can be read by everybody in `ps`."""

import os
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from lakehouse.settings.state import make_private


@contextmanager
def properties_file(conf: Mapping[str, str], folder: Path) -> Generator[Path]:
    """A file that only its owner can read, and that is gone when the JVM has read it."""
    make_private(folder)
    handle, name = tempfile.mkstemp(suffix=".properties", dir=folder)  # mode 0600
    path = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="ascii") as stream:
            stream.writelines(f"{_escaped(key)}={_escaped(value)}\n" for key, value in conf.items())
        yield path
    finally:
        path.unlink()


def _escaped(text: str) -> str:
    """Text as `java.util.Properties` reads it back, whatever is in it."""
    return "".join(char if (char.isalnum() and char.isascii()) or char in "._-/" else _unit(char) for char in text)


def _unit(char: str) -> str:
    units = char.encode("utf-16-be")
    return "".join(f"\\u{units[index]:02x}{units[index + 1]:02x}" for index in range(0, len(units), 2))
