"""A look into a transaction sees every update that was staged before it, and is not paid for twice."""

from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pyiceberg.table
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.schema import Schema
from pyiceberg.table import Transaction
from pyiceberg.types import LongType, NestedField

from lakehouse.protocol.commit.transaction import StagingTransaction


def staged(make: Callable[[pyiceberg.table.Table], Transaction], table: pyiceberg.table.Table) -> Transaction:
    transaction = make(table)
    transaction.set_properties(a="1")
    transaction.set_properties(b="2")
    transaction.remove_properties("a")
    return transaction


def test_each_update_is_seen_and_applied_once(tmp_path: Path) -> None:
    catalog = InMemoryCatalog("memory", warehouse=tmp_path.as_uri())
    catalog.create_namespace("shop")
    table = catalog.create_table("shop.orders", Schema(NestedField(1, "id", LongType())))
    transaction = staged(StagingTransaction, table)
    assert transaction.table_metadata.properties == staged(Transaction, table).table_metadata.properties
    assert "a" not in transaction.table_metadata.properties
    with mock.patch.object(pyiceberg.table, "update_table_metadata", side_effect=AssertionError("applied again")):
        assert transaction.table_metadata.properties["b"] == "2"
