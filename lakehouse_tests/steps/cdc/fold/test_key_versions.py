"""What a key held is found in the mirror where no change of the changelog says it: its rows came by an initial copy."""

import pytest

from lakehouse_tests.steps.cdc.conftest import MakeMirror
from lakehouse_tests.steps.cdc.fold.test_key_changes import moved, proven

pytestmark = [pytest.mark.soak, pytest.mark.spark]


def test_a_value_from_an_initial_copy_is_kept_as_well(mirrored: MakeMirror) -> None:
    it = mirrored(initial="raw.things")
    it.sql(
        "CREATE NAMESPACE IF NOT EXISTS lake.raw", "CREATE TABLE lake.raw.things (id bigint, name string, size bigint)"
    )
    it.sql("INSERT INTO lake.raw.things VALUES (1, 'one', 11), (3, 'three', 33)")
    it.apply(moved(1, 2, 20, name="two"))
    it.apply(moved(3, 4, 30, name="four"))
    assert it.rows() == {2: ("two", 11), 4: ("four", 33)}
    assert proven(it)
