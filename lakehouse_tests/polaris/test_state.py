"""Grants as people read them, and as the management API has them."""

from lakehouse.polaris.state import Grant


def test_a_grant_in_both_forms() -> None:
    catalog, namespace = Grant("catalog", "NAMESPACE_LIST"), Grant("namespace", "TABLE_READ_DATA", ("raw", "eu"))
    table = Grant("table", "TABLE_ADD_SNAPSHOT", ("raw",), "flights")
    assert [str(grant) for grant in (catalog, namespace, table)] == [
        "NAMESPACE_LIST on catalog",
        "TABLE_READ_DATA on namespace raw.eu",
        "TABLE_ADD_SNAPSHOT on table raw.flights",
    ]
    assert catalog.resource() == {"type": "catalog", "privilege": "NAMESPACE_LIST"}
    assert namespace.resource() == {"type": "namespace", "privilege": "TABLE_READ_DATA", "namespace": ["raw", "eu"]}
    assert table.resource() == {
        "type": "table",
        "privilege": "TABLE_ADD_SNAPSHOT",
        "namespace": ["raw"],
        "tableName": "flights",
    }
