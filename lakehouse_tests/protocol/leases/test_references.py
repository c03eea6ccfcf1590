"""Tags are set until none is missing, also where an answer is lost; who never gets through says so."""

import pytest
from pyiceberg.exceptions import CommitFailedException

from lakehouse.protocol.catalog import TableChange, ref_is, set_tag
from lakehouse.protocol.leases.references import commit_missing
from lakehouse.protocol.seals.history import head_of
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.fixtures.rest_catalog import Fault


def tagging(lake: Lake, name: str, looks: list[str]) -> list[TableChange]:
    """What is missing while the tag `kept` is not there."""
    table = lake.load(name)
    looks.append(name)
    head = head_of(table)
    assert head is not None
    if head_of(table, "kept") is not None:
        return []
    return [TableChange(table.name(), (ref_is("kept", None),), (set_tag("kept", head),))]


@pytest.mark.rest
@pytest.mark.parametrize("fault", ["apply-then-cut", "cut", "503", "apply-then-503"])
def test_an_answer_that_is_lost_is_looked_up(rest_lake: Lake, fault: Fault) -> None:
    name, looks = rest_lake.create("things"), list[str]()
    rest_lake.write("write", things=[1])
    assert rest_lake.rest is not None
    rest_lake.rest.fail_next(fault, on="transaction")
    commit_missing(rest_lake.catalog, lambda: tagging(rest_lake, name, looks), what="the tag")
    assert head_of(rest_lake.load(name), "kept") == head_of(rest_lake.load(name))
    assert len(looks) == (2 if fault.startswith("apply") else 3), "a look after each try"


def test_who_never_gets_through_says_what_was_to_be_done(sql_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakehouse.protocol.leases.references._TRIES", 2)
    name = sql_lake.create("things")
    sql_lake.write("write", things=[1])
    hopeless = TableChange(sql_lake.load(name).name(), (ref_is("main", 1),), (set_tag("kept", 1),))
    with pytest.raises(CommitFailedException, match="the tag kept: not done in 2 tries"):
        commit_missing(sql_lake.catalog, lambda: [hopeless], what="the tag kept")
    assert "kept" not in sql_lake.load(name).metadata.refs
