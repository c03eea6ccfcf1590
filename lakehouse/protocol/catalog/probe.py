"""Recognises a catalog on which the write protocol is not safe, by behaviour and not by name or version.

Some catalogs accept a commit to a branch and move `main` instead, or do not check `assert-ref-snapshot-id: null`. On
them a staged row is a published row.
"""

import secrets
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlparse

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField

from lakehouse.errors import LakehouseError
from lakehouse.protocol.catalog.change import LakeCatalog, TableChange, ref_is, set_branch

_BRANCH = "lakehouse_probe"
_REMEDY = "use a catalog that keeps snapshot branches (Polaris, Iceberg's REST or JDBC catalog); Nessie does not"


class UnsafeCatalog(LakehouseError):
    """The catalog does not keep what a branch or a requirement promises."""


def probe(catalog: LakeCatalog, namespace: str) -> None:
    """Try the protocol's needs on a table of our own in `namespace`, then remove it with its files.

    Raises:
        UnsafeCatalog: a branch moved `main`, vanished, or a requirement was not checked.
    """
    identifier = (*Catalog.identifier_to_tuple(namespace), f"lakehouse_probe_{secrets.token_hex(4)}")
    table = catalog.create_table(identifier, Schema(NestedField(1, "n", LongType(), required=False)))
    try:
        with table.transaction() as transaction, transaction.update_snapshot().fast_append():
            pass
        first = _head(catalog, identifier, "main")
        if first is None:
            raise UnsafeCatalog(f"Catalog {catalog.name} lost a table's first commit.", remedy=_REMEDY)
        table = catalog.load_table(identifier)
        table.manage_snapshots().create_branch(first, _BRANCH).commit()
        table = catalog.load_table(identifier)
        with table.transaction() as transaction, transaction.update_snapshot(branch=_BRANCH).fast_append():
            pass
        _require_apart(catalog, identifier, first)
        _require_checked(catalog, identifier, first)
    finally:
        _remove(catalog, identifier, table.location())


def _require_apart(catalog: LakeCatalog, identifier: tuple[str, ...], first: int) -> None:
    if _head(catalog, identifier, "main") != first or _head(catalog, identifier, _BRANCH) in (None, first):
        raise UnsafeCatalog(f"Catalog {catalog.name} ignores branches: a commit to one moved main.", remedy=_REMEDY)


def _require_checked(catalog: LakeCatalog, identifier: tuple[str, ...], first: int) -> None:
    claim = TableChange(
        identifier,
        (ref_is(_BRANCH, None),),
        (set_branch(_BRANCH, first),),
    )
    try:
        catalog.commit_tables([claim])
    except CommitFailedException:
        return
    raise UnsafeCatalog(
        f"Catalog {catalog.name} does not check that a branch is absent (assert-ref-snapshot-id: null).", remedy=_REMEDY
    )


def _remove(catalog: LakeCatalog, identifier: tuple[str, ...], location: str) -> None:
    """Drop the table with its files, and on a local disk with its folders, which no file system drops by itself."""
    catalog.remove_table(identifier)
    if location.startswith("file:"):
        folder = Path(urlparse(location).path)
        with suppress(OSError):  # another machine's disk, or files that the server keeps
            (folder / "metadata").rmdir()
            folder.rmdir()


def _head(catalog: LakeCatalog, identifier: tuple[str, ...], ref: str) -> int | None:
    try:
        reference = catalog.load_table(identifier).metadata.refs.get(ref)
    except NoSuchTableError:
        return None
    return reference.snapshot_id if reference else None
