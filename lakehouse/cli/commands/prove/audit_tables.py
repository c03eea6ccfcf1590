"""The tables of one audit: each is loaded once for all kinds of proof, and anew where what was found may be old."""

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table

from lakehouse.iceberg.names import identifier_of
from lakehouse.protocol.catalog import CANNOT_LOAD, LakeCatalog


class AuditTables:
    """Loads tables, and hands those on that it has loaded before.

    Args:
        catalog: where they live.
    """

    def __init__(self, catalog: LakeCatalog) -> None:
        self._catalog = catalog
        self._loaded: dict[str, Table | None] = {}
        self._handed_on: set[str] = set()

    def begin_proof(self) -> None:
        """Count from here which tables were loaded before the proof that begins."""
        self._handed_on.clear()

    def load(self, name: str) -> Table | None:
        """A table as it was when it was loaded first; None where there is none, of which nothing is to be proven.

        What cannot be loaded is not remembered: whoever asks next fails, or finds it, for itself.

        Raises:
            MetadataFileDamaged: its document is gone, or is no JSON.
        """
        if name in self._loaded:
            self._handed_on.add(name)
            return self._loaded[name]
        return self.reload(name)

    def load_existing(self, name: str) -> Table:
        """The same of a table without which there is nothing to prove.

        Raises:
            NoSuchTableError: it does not exist.
            MetadataFileDamaged: its document is gone, or is no JSON.
        """
        if (table := self.load(name)) is None:
            raise NoSuchTableError(f"Table does not exist: {name}")
        return table

    def reload(self, name: str) -> Table | None:
        """A table as it is now.

        Raises:
            MetadataFileDamaged: its document is gone, or is no JSON.
        """
        try:
            self._loaded[name] = self._catalog.load_table(identifier_of(name))
        except NoSuchTableError:
            self._loaded[name] = None
        return self._loaded[name]

    def forget(self) -> None:
        """Load every table anew from here on."""
        self._loaded.clear()

    def gone_on(self) -> bool:
        """Whether a table that was handed on to this proof was changed, made or dropped since it was loaded.

        Where the catalog does not say, nobody knows; what was found stands.
        """
        if not self._handed_on:
            return False
        try:
            locations = self._catalog.locations([identifier_of(name) for name in sorted(self._handed_on)])
        except CANNOT_LOAD:
            return False
        return any(
            locations.known.get(identifier_of(name)) != (table.metadata_location if table else None)
            for name, table in self._loaded.items()
            if name in self._handed_on and identifier_of(name) not in locations.refused
        )
