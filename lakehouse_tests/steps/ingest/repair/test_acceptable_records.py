"""How many of a partition's last records count as refused, once some of them are taken up again.

The whole way through quarantine, decoder and rules is in `test_reprocess`.
"""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from lakehouse.steps.ingest.received import TOMBSTONE
from lakehouse.steps.ingest.repair import acceptable_records
from lakehouse.steps.ingest.repair.acceptable_records import _refused_last

REFUSED = [(0, 5), (0, 6), (0, 8), (1, 3)]


def refused_last(before: dict[int, int] | None, *taken: tuple[int, int, str]) -> dict[int, int] | None:
    return _refused_last(cast("Any", None), cast("Any", SimpleNamespace(refused_last=before)), taken)


@pytest.fixture(autouse=True)
def quarantine(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is counted after the newest record that is taken."""

    def after(_: object, newest: dict[int, int]) -> dict[int, int]:
        counts = {
            partition: sum(r > (partition, newest[partition]) and r[0] == partition for r in REFUSED)
            for partition in newest
        }
        return {partition: count for partition, count in counts.items() if count}

    monkeypatch.setattr(acceptable_records, "refused_after", after)


def test_what_is_taken_is_none_of_the_last_refused() -> None:
    """Nor is what came before it: a record that is good ends the row of bad ones."""
    assert refused_last({0: 3, 1: 1}, (0, 6, "not_json")) == {0: 1, 1: 1}
    assert refused_last({0: 3, 1: 1}, (0, 8, "not_json"), (0, 5, "not_json")) == {1: 1}


def test_one_that_was_not_among_the_last_changes_nothing() -> None:
    assert refused_last({0: 1}, (0, 5, "not_json")) == {0: 1}
    assert refused_last({1: 1}, (0, 8, "not_json")) == {1: 1}


def test_a_record_without_a_value_ends_no_row_of_bad_ones() -> None:
    assert refused_last({0: 3}, (0, 8, TOMBSTONE)) == {0: 3}


def test_tables_of_an_earlier_release_do_not_say() -> None:
    assert refused_last(None, (0, 8, "not_json")) is None
