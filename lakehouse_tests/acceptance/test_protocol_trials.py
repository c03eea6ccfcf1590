"""Trials of the write protocol: they pass where it holds, and fail on a catalog that does not keep it."""

from collections.abc import Sequence

import pytest

from lakehouse.acceptance.protocol_trials import capability, killed, lost_answer, races
from lakehouse.acceptance.scratch import Scratch
from lakehouse.acceptance.trial import PromiseBroken
from lakehouse.protocol.catalog import LakeCatalog, TableChange

pytestmark = pytest.mark.slow


def test_the_protocol_holds_on_both_catalogs(numbers: Scratch) -> None:
    assert capability(numbers)
    assert "one winner in each" in races(numbers)
    assert "once" in lost_answer(numbers)


@pytest.mark.kill
@pytest.mark.soak
def test_kills_leave_both_tables_or_none(numbers: Scratch) -> None:
    assert "both tables or none" in killed(numbers)


def test_a_catalog_that_checks_no_requirement_lets_two_writers_win(
    numbers: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = type(numbers.catalog).commit_tables

    def unchecked(catalog: LakeCatalog, changes: Sequence[TableChange]) -> None:
        commit(catalog, [TableChange(change.identifier, (), change.updates) for change in changes])

    monkeypatch.setattr(type(numbers.catalog), "commit_tables", unchecked)
    with pytest.raises(PromiseBroken, match="2 published"):
        races(numbers)
