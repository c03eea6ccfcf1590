"""Tampering with what is no commit at all: the metadata document of a table in an embedded catalog, edited by hand."""

import json
import sqlite3
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

from lakehouse import seal_keys
from lakehouse.protocol.seals.seal import _digest

Document = dict[str, Any]


def edit_document(database: Path, name: str, edit: Callable[[Document], None]) -> None:
    """Write a changed copy of a table's metadata and let the catalog name it."""
    namespace, table = name.split(".")
    with sqlite3.connect(database) as connection:
        where = (namespace, table)
        query = "SELECT metadata_location FROM iceberg_tables WHERE table_namespace = ? AND table_name = ?"
        (location,) = connection.execute(query, where).fetchone()
        path = Path(urlparse(location).path)
        document = json.loads(path.read_text())
        edit(document)
        changed = path.with_name(f"{path.name.split('-')[0]}-{uuid.uuid4()}.metadata.json")
        changed.write_text(json.dumps(document))
        connection.execute(
            "UPDATE iceberg_tables SET metadata_location = ? WHERE table_namespace = ? AND table_name = ?",
            (changed.as_uri(), *where),
        )
    connection.close()


def ancestry(document: Document) -> list[Document]:
    """Snapshots of `main`, newest first."""
    by_id = {snapshot["snapshot-id"]: snapshot for snapshot in document["snapshots"]}
    line: list[Document] = []
    snapshot_id = document["refs"]["main"]["snapshot-id"]
    while snapshot_id in by_id:
        line.append(by_id[snapshot_id])
        snapshot_id = by_id[snapshot_id].get("parent-snapshot-id")
    return line


def seals(document: Document) -> list[Document]:
    """Summaries of the seals of `main`, newest first."""
    return [s["summary"] for s in ancestry(document) if seal_keys.DIGEST in s["summary"]]


def redigest(summary: dict[str, str]) -> None:
    """Make the digest fit again, as a careful forger would."""
    summary[seal_keys.DIGEST] = _digest(
        {k: v for k, v in summary.items() if k.startswith(seal_keys.PREFIX) and k != seal_keys.DIGEST}
    )
