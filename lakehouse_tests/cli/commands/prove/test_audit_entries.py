"""`lakehouse audit` of entries: one that shares files, lies outside of the warehouse, or cannot be written any more."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyiceberg.exceptions import ForbiddenError

from lakehouse.cli.commands.prove import audit as command
from lakehouse.protocol.catalog import Entry, open_catalog
from lakehouse.protocol.catalog.sql import SqlLakeCatalog
from lakehouse_tests.cli.commands.prove.test_audit_files import audit
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.proofs.lineage.computed import A, B, Computed


def test_a_second_entry_of_a_table_is_named(lake: Computed) -> None:
    """`register_table`: the two go on apart. Each entry of the catalog is read once, however many tables are asked."""
    catalog = lake.catalog
    catalog.create_namespace_if_not_exists("other")
    catalog.register_table(("other", "copy"), lake.load(B).metadata_location)
    result = audit()
    assert result.exit_code == 1, result.output
    assert f"BROKEN shared_files: {B}: {B} shares the UUID {lake.load(B).metadata.table_uuid} with other.copy" in (
        result.output
    )
    assert f"BROKEN shared_files: {A}" not in result.output
    assert audit(A).exit_code == 0


def test_a_table_outside_of_the_warehouse_is_named_and_breaks_no_promise(
    lake: Computed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As all of a copied lakehouse: its catalog names the files of the original."""
    assert "WARNING" not in audit().output
    copy = sql_settings(tmp_path).model_copy(update={"warehouse": (tmp_path / "copy").as_uri()})
    monkeypatch.setattr(command, "catalog_of", lambda _: open_catalog(copy))
    result = audit(A)
    assert result.exit_code == 0, result.output
    assert f"WARNING: {A} has its metadata at {lake.load(A).metadata_location}, outside of the warehouse" in (
        result.output
    )


def test_a_table_that_no_step_can_write_any_more_is_named_and_breaks_no_promise(lake: Computed) -> None:
    lake.edit(B, lambda document: document.update({"format-version": 3, "next-row-id": 100}))
    result = audit(B)
    assert result.exit_code == 0, result.output
    assert f"WARNING: {B}: it was upgraded to format version 3" in result.output


def test_a_catalog_that_lists_nothing_leaves_it_open_once(lake: Computed, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: object) -> Iterator[Entry]:
        raise ForbiddenError("no listing")

    monkeypatch.setattr(SqlLakeCatalog, "entries", refused)
    result = audit(A, B)
    assert result.exit_code == 2, result.output
    assert result.output.count("The catalog does not list its entries (ForbiddenError)") == 1
