"""Two entries for one file claim the same of it, or one of them leaves a claim out.

Guarded mechanism: every claim by which readers choose a file, or read it.
"""

from typing import Any

import pytest
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.typedef import Record

from lakehouse.iceberg.claims.compared import adds_claims, differing_claim
from lakehouse_tests.iceberg.claims.doctored import set_claim


def entry(**claims: Any) -> DataFile:
    known: dict[str, Any] = {
        "content": DataFileContent.DATA,
        "file_path": "file:///f.parquet",
        "file_format": FileFormat.PARQUET,
        "partition": Record("x"),
        "record_count": 2,
        "file_size_in_bytes": 100,
        "value_counts": {1: 2},
        "null_value_counts": {1: 0},
        "nan_value_counts": {1: 0},
        "lower_bounds": {1: b"a"},
        "upper_bounds": {1: b"b"},
    }
    file = DataFile.from_args(**known)
    file.spec_id = 0
    for attribute, value in claims.items():
        set_claim(file, attribute, value)
    return file


OTHER: dict[str, Any] = {
    "file_format": FileFormat.ORC,
    "partition": Record("y"),
    "record_count": 20,
    "file_size_in_bytes": 10,
    "value_counts": {1: 1},
    "null_value_counts": {1: 2},
    "nan_value_counts": {1: 2},
    "lower_bounds": {1: b"b"},
    "upper_bounds": {1: b"a"},
    "equality_ids": [1],
}


@pytest.mark.parametrize("attribute", OTHER)
def test_another_claim_is_named(attribute: str) -> None:
    assert differing_claim(entry(), entry(**{attribute: OTHER[attribute]}))


def test_what_readers_do_not_choose_by_may_differ() -> None:
    assert not differing_claim(entry(), entry(split_offsets=[4], sort_order_id=1, column_sizes={1: 7}))
    assert not differing_claim(entry(partition=Record(float("nan"))), entry(partition=Record(float("nan"))))


@pytest.mark.parametrize("attribute", ["value_counts", "null_value_counts", "lower_bounds", "upper_bounds"])
def test_a_claim_that_is_left_out_hides_nothing_and_one_that_is_new_is_to_be_proven(attribute: str) -> None:
    without = entry(**{attribute: None})
    assert not differing_claim(entry(), without)
    assert not differing_claim(without, entry())
    assert (adds_claims(entry(), without), adds_claims(without, entry())) == (False, True)


def test_where_to_split_it_is_a_claim() -> None:
    claimed, without = entry(split_offsets=[4, 90]), entry()
    assert differing_claim(claimed, entry(split_offsets=[90])) == "other places to split it at"
    assert differing_claim(claimed, entry(split_offsets=[4, 90])) == differing_claim(claimed, without) == ""
    assert (adds_claims(claimed, without), adds_claims(without, claimed)) == (False, True)
