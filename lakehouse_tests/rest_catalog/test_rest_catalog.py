"""The REST catalog that other tests stand on keeps the promises they assume, and breaks them when told to."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pytest
import requests
from pyiceberg.catalog import load_catalog
from pyiceberg.catalog.rest import RestCatalog as RestClient
from pyiceberg.exceptions import ServiceUnavailableError
from pyiceberg.table import Table

from lakehouse_tests.fixtures.rest_catalog import RestCatalog

pytestmark = pytest.mark.rest
ROWS = pa.table({"x": [1, 2, 3]})


def client(uri: str) -> RestClient:
    catalog = load_catalog("lake", type="rest", uri=uri)
    assert isinstance(catalog, RestClient)
    return catalog


def new_table(uri: str, name: str) -> Table:
    catalog = client(uri)
    catalog.create_namespace_if_not_exists(("rest", "fixture"))
    table = catalog.create_table(("rest", "fixture", name), schema=ROWS.schema)
    table.append(ROWS)
    return table


def count(table: Table, ref: str = "main") -> int:
    return table.refresh().scan().use_ref(ref).to_arrow().num_rows


def head(table: Table) -> int:
    snapshot = table.refresh().current_snapshot()
    assert snapshot is not None
    return snapshot.snapshot_id


def mark_together(uri: str, tables: list[Table], mark: str, *, expect_main: int | None = None) -> int:
    """One transaction that puts a new branch on the head of each table, where that branch must not be there yet.

    With `expect_main`, the last table must also have its `main` there.
    """
    changes: list[dict[str, Any]] = [
        {
            "identifier": {"namespace": table.name()[:-1], "name": table.name()[-1]},
            "requirements": [{"type": "assert-ref-snapshot-id", "ref": mark, "snapshot-id": None}],
            "updates": [
                {"action": "set-snapshot-ref", "ref-name": mark, "type": "branch", "snapshot-id": head(table)},
            ],
        }
        for table in tables
    ]
    if expect_main is not None:
        changes[-1]["requirements"] += [{"type": "assert-ref-snapshot-id", "ref": "main", "snapshot-id": expect_main}]
    return requests.post(f"{uri}/v1/transactions/commit", json={"table-changes": changes}, timeout=60).status_code


def test_a_commit_to_a_branch_leaves_main_alone(rest_catalog: RestCatalog) -> None:
    table = new_table(rest_catalog.uri, "branches")
    table.manage_snapshots().create_branch(head(table), "side").commit()
    table.append(ROWS, branch="side")
    assert (count(table), count(table, "side")) == (3, 6)


def test_one_refused_table_refuses_the_whole_transaction(rest_catalog: RestCatalog) -> None:
    tables = [new_table(rest_catalog.uri, name) for name in ("whole_1", "whole_2")]
    assert mark_together(rest_catalog.uri, tables, "mark", expect_main=17) == 409
    assert [set(table.refresh().refs()) for table in tables] == [{"main"}, {"main"}]
    assert mark_together(rest_catalog.uri, tables, "mark", expect_main=head(tables[1])) == 200
    assert [set(table.refresh().refs()) for table in tables] == [{"main", "mark"}, {"main", "mark"}]


def test_a_race_has_one_winner(rest_catalog: RestCatalog) -> None:
    first, two, three = (new_table(rest_catalog.uri, f"race_{number}") for number in (1, 2, 3))
    rest_catalog.fail_next("hold-then-apply", on="transaction", times=4)
    with ThreadPoolExecutor(4) as pool:
        sets = [[first, two], [two, three], [two], [three, two, first]]
        answers = [pool.submit(mark_together, rest_catalog.uri, tables, "winner") for tables in sets]
        rest_catalog.wait_until_holding(4)
        rest_catalog.release()
        assert sorted(answer.result() for answer in answers) == [200, 409, 409, 409]
    marked = [set(table.refresh().refs()) == {"main", "winner"} for table in (first, two, three)]
    winner = next(tables for tables, answer in zip(sets, answers, strict=True) if answer.result() == 200)
    assert marked == [table in winner for table in (first, two, three)]


@pytest.mark.parametrize(
    ("fault", "error", "rows"),
    [
        ("503", ServiceUnavailableError, 3),
        ("apply-then-503", ServiceUnavailableError, 6),
        ("cut", requests.exceptions.ConnectionError, 3),
        ("apply-then-cut", requests.exceptions.ConnectionError, 6),
    ],
)
def test_a_lost_answer(rest_catalog: RestCatalog, fault: str, error: type[Exception], rows: int) -> None:
    table = new_table(rest_catalog.uri, f"lost_{fault.replace('-', '_')}")
    rest_catalog.fail_next(fault, on="table")  # pyright: ignore[reportArgumentType]
    with pytest.raises(error):
        table.append(ROWS)
    assert (count(table), rest_catalog.faults()["done"]) == (rows, 1)


def test_faults_wait_for_their_kind_of_commit(rest_catalog: RestCatalog) -> None:
    table = new_table(rest_catalog.uri, "kinds")
    rest_catalog.fail_next("503", on="transaction", skip=1)
    table.append(ROWS)
    assert mark_together(rest_catalog.uri, [table], "a") == 200
    assert mark_together(rest_catalog.uri, [table], "b") == 503
    assert set(table.refresh().refs()) == {"main", "a"}


def test_a_catalog_that_ignores_branches(rest_catalog: RestCatalog) -> None:
    table = new_table(rest_catalog.branchless_uri, "branchless")
    table.manage_snapshots().create_branch(head(table), "side").commit()
    assert set(table.refresh().refs()) == {"main"}
    table.append(ROWS, branch="side")
    assert set(table.refresh().refs()) == {"main"}
    assert table.scan().to_arrow().num_rows == 3, "built without a parent, it replaced what main had"
