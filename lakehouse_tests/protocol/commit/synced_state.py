"""What a power cut leaves: a log of what was synced, from which the folder is built as it would be found afterwards.

As strict as POSIX allows: a file has what it had when it was synced itself, and a name is there once its folder was
synced. A file whose name alone was synced is empty. A commit of the catalog is there at once: SQLite syncs it, as
`test_sql.py` shows. Whoever wrote a file, we or Spark, it was synced by us or not at all.
"""

import os
import shutil
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

import pytest


@dataclass(frozen=True)
class State:
    """What is on the disk: bytes of files, names in folders, and the catalog's database."""

    files: dict[Path, bytes]
    names: dict[Path, frozenset[str]]
    database: bytes

    def build(self, root: Path) -> None:
        """Put it in the place of the folder."""
        shutil.rmtree(root)
        root.mkdir()
        (root / "catalog.db").write_bytes(self.database)
        self._build_folder(root)

    def _build_folder(self, folder: Path) -> None:
        for name in self.names.get(folder, ()):
            path = folder / name
            if path.suffix:
                path.write_bytes(self.files.get(path, b""))
            else:
                path.mkdir(exist_ok=True)
                self._build_folder(path)


@dataclass
class SyncLog:
    """Follows a folder: a state before each sync, and one at the end."""

    root: Path
    states: list[State] = field(default_factory=list[State])
    _files: dict[Path, bytes] = field(default_factory=dict[Path, bytes])
    _names: dict[Path, frozenset[str]] = field(default_factory=dict[Path, frozenset[str]])
    _lock: Lock = field(default_factory=Lock)

    @contextmanager
    def following(self, patch: pytest.MonkeyPatch) -> Generator[None]:
        """While this process works."""
        fsync = os.fsync

        def logged(descriptor: int) -> None:
            with self._lock:
                self.cut()
                fsync(descriptor)
                self._take(Path(f"/proc/self/fd/{descriptor}").readlink())

        patch.setattr(os, "fsync", logged)
        yield
        self.cut()

    def cut(self) -> None:
        """Keep what would be there if the power were cut now."""
        with closing(sqlite3.connect(self.root / "catalog.db")) as connection:
            database = connection.serialize()
        self.states.append(State(dict(self._files), dict(self._names), database))

    def _take(self, path: Path) -> None:
        if not path.is_relative_to(self.root):
            return
        if path.is_dir():
            names = (entry.name for entry in path.iterdir())
            self._names[path] = frozenset(name for name in names if not name.startswith("catalog.db"))
        else:
            self._files[path] = path.read_bytes()
