"""Where everything local lives: `.lakehouse/` in the project's folder, ignored by git, removed by `make clean`.

Rows, logs and keys are in it, so it is open to its owner alone.
"""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from lakehouse.settings.error import SettingsError

PRIVATE = 0o700


def make_private(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for their owner alone, whatever the umask.

    Raises:
        OSError: the system refuses it.
    """
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(mode=PRIVATE, exist_ok=True)


@dataclass(frozen=True)
class StateFolder:
    """The folders of a laptop's lakehouse."""

    root: Path

    def make(self) -> None:
        """Make it, or close one of an earlier version, which was open to everybody, to others than its owner.

        One with a set-group or sticky bit is shared by somebody's decision, and one that is not ours is theirs to
        close: both stay as they are, as does a folder that held no lake before.

        Raises:
            OSError: the system refuses it.
            SettingsError: something else is there.
        """
        make_private(self.root)
        if not self.root.is_dir():
            raise SettingsError(
                f"{self.root} is no folder, and local state is kept in it.",
                remedy="move it away, or set LAKEHOUSE_HOME to a folder elsewhere.",
            )
        status = self.root.stat()
        shared = status.st_mode & (stat.S_ISGID | stat.S_ISVTX)
        is_lake = self.catalog_db.exists() or (self.dagster / "dagster.yaml").exists()
        if status.st_uid == os.geteuid() and is_lake and not shared and stat.S_IMODE(status.st_mode) & 0o077:
            self.root.chmod(PRIVATE)

    @property
    def catalog_db(self) -> Path:
        """The SQLite file that Spark's JdbcCatalog and PyIceberg's SqlCatalog share."""
        return self.root / "catalog.db"

    @property
    def warehouse(self) -> Path:
        """Table data and metadata."""
        return self.root / "warehouse"

    @property
    def kafka(self) -> Path:
        """The local broker's log, its configuration and its process id."""
        return self.root / "kafka"

    @property
    def jars(self) -> Path:
        """`spark/` and `broker/`, each as locked."""
        return self.root / "jars"

    @property
    def dagster(self) -> Path:
        """`DAGSTER_HOME`."""
        return self.root / "dagster"

    @property
    def logs(self) -> Path:
        """What the processes we start print."""
        return self.root / "logs"
