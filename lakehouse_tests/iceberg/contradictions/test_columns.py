"""Schemas, specs and orders: what format 1 and clean-up leave is no contradiction."""

from lakehouse.iceberg.contradictions.columns import contradictions_of_columns
from lakehouse_tests.iceberg.contradictions.documents import COLUMNS, document


def test_a_document_of_format_1_may_know_one_schema_alone() -> None:
    whole = {"schema": {"type": "struct", "fields": COLUMNS}, "partition-spec": [], "last-column-id": 11}
    assert list(contradictions_of_columns(whole)) == []
    assert list(contradictions_of_columns({**whole, "last-column-id": 3})) == [
        "schema 0 has field counts.value with the id 11, and `last-column-id` is 3"
    ]


def test_a_field_that_format_1_has_emptied_needs_no_column() -> None:
    whole = document(1)
    whole["partition-specs"][-1]["fields"].append(
        {"name": "old", "transform": "void", "source-id": 2, "field-id": 1000}
    )
    assert list(contradictions_of_columns(whole)) == []


def test_a_spec_that_is_not_written_by_may_be_of_a_dropped_column() -> None:
    whole = document(1)
    assert whole["partition-specs"][1]["fields"][0]["source-id"] == 2
    assert all(field["id"] != 2 for field in whole["schemas"][-1]["fields"])
    whole["schemas"] = whole["schemas"][-1:]
    assert list(contradictions_of_columns(whole)) == []


def test_a_transform_and_a_type_that_are_not_known_yet_are_let_pass() -> None:
    whole = document(1)
    whole["schemas"][-1]["fields"][0]["type"] = "variant"
    whole["partition-specs"][-1]["fields"][0]["transform"] = "cube"
    assert list(contradictions_of_columns(whole)) == []
