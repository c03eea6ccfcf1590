"""Where everything local lives: `.lakehouse/` in the project's folder, ignored by git, removed by `make clean`."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class StateFolder:
    """The folders of a laptop's lakehouse."""

    root: Path

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
