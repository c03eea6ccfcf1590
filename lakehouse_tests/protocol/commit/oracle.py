"""The oracle: what the tables say, read with plain PyIceberg and from the metadata file, never by what is tested."""

import gzip
import json
import weakref
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from pyiceberg.catalog import load_catalog
from pyiceberg.table import Table

from lakehouse.settings import CatalogSettings
from lakehouse_tests.fixtures.lakes import Lake


class Oracle:
    """Looks at the tables of one namespace."""

    def __init__(self, settings: CatalogSettings, namespace: str) -> None:
        self._catalog = load_catalog("lake", type=settings.type, uri=settings.address, warehouse=settings.warehouse)
        self._namespace = namespace
        weakref.finalize(self, self._catalog.close)  # or its pool would keep a connection to PostgreSQL

    @classmethod
    def of(cls, lake: Lake) -> "Oracle":
        """For the tables of a test."""
        return cls(lake.settings, lake.namespace)

    def load(self, table: str) -> Table:
        """A table, by plain PyIceberg."""
        return self._catalog.load_table((self._namespace, table))

    def rows(self, table: str) -> dict[int, str]:
        """Column `n` → column `s` of `main`; a number that is there twice is an error."""
        data = self.load(table).scan().to_arrow()
        numbers, words = data["n"].to_pylist(), data["s"].to_pylist()
        assert len(set(numbers)) == len(numbers), f"{table} holds a row twice: {sorted(numbers)}"
        return dict(zip(numbers, words, strict=True))

    def document(self, table: str) -> dict[str, Any]:
        """The metadata JSON itself."""
        path = Path(urlparse(self.load(table).metadata_location).path)
        content = path.read_bytes()
        return json.loads(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content)

    def history(self, table: str, ref: str = "main") -> list[dict[str, Any]]:
        """The snapshots from a branch's head to the root, newest first."""
        document = self.document(table)
        by_id = {snapshot["snapshot-id"]: snapshot for snapshot in document.get("snapshots", [])}
        snapshot_id = document.get("refs", {}).get(ref, {}).get("snapshot-id")
        line: list[dict[str, Any]] = []
        while snapshot_id in by_id:
            line.append(by_id[snapshot_id])
            snapshot_id = by_id[snapshot_id].get("parent-snapshot-id")
        return line

    def attempts(self, table: str) -> list[str]:
        """The attempts that `main` holds, newest first, each once per seal."""
        summaries = [snapshot["summary"] for snapshot in self.history(table)]
        return [summary["lakehouse.attempt"] for summary in summaries if "lakehouse.seal" in summary]

    def refs(self, table: str) -> set[str]:
        """Names of branches and tags."""
        return set(self.document(table).get("refs", {}))

    def files(self, table: str) -> set[str]:
        """The data files that `main` reads."""
        return {task.file.file_path for task in self.load(table).scan().plan_files()}

    def files_on_disk(self, table: str) -> set[str]:
        """Every data file in the table's folder."""
        folder = Path(urlparse(self.load(table).location()).path) / "data"
        return {path.as_uri() for path in folder.rglob("*.parquet")}
