"""A REST catalog whose answers get lost, or that has tables that cannot be read."""

from typing import Any

import pytest
import requests
from pydantic import ValidationError
from pyiceberg.catalog.rest import TableResponse
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException

from lakehouse.protocol.catalog import TableChange
from lakehouse.protocol.commit import publish
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.protocol.commit.oracle import Oracle

pytestmark = pytest.mark.slow


@pytest.mark.rest
def test_an_answer_to_a_commit_is_read_as_an_answer(rest_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    name = rest_lake.create("a")
    answer = requests.Response()
    answer.status_code, answer._content = 409, b"a secret"
    monkeypatch.setattr(requests.Session, "post", lambda *_, **__: answer)
    with pytest.raises(CommitFailedException) as error:
        rest_lake.catalog.commit_tables([TableChange(tuple(name.split(".")), (), ())])
    assert str(error.value) == f"{name}: the catalog answered 409"


@pytest.mark.rest
@pytest.mark.parametrize("error", [requests.ReadTimeout, requests.ConnectionError])
def test_no_answer_is_no_refusal(rest_lake: Lake, monkeypatch: pytest.MonkeyPatch, error: type[Exception]) -> None:
    name = rest_lake.create("a")

    def silent(*_: Any, timeout: tuple[float, float], **__: Any) -> None:
        assert max(timeout) < 600
        raise error("nothing")

    monkeypatch.setattr(requests.Session, "post", silent)
    with pytest.raises(CommitStateUnknownException, match=error.__name__):
        rest_lake.catalog.commit_tables([TableChange(tuple(name.split(".")), (), ())])


@pytest.mark.rest
def test_where_a_table_is_that_cannot_be_read_is_told_with_all_others(
    rest_lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    strange, other = (tuple(rest_lake.create(name).split(".")) for name in ("strange", "other"))
    expected = rest_lake.catalog.locations([strange, other])
    assert set(expected.known) == {strange, other}
    real = TableResponse.model_validate_json

    def read(text: str) -> TableResponse:
        return real(text if "/strange/" not in text else text.replace('"type":"long"', '"type":"variant"'))

    monkeypatch.setattr(TableResponse, "model_validate_json", read)
    with pytest.raises(ValidationError):
        rest_lake.catalog.load_table(strange)
    assert rest_lake.catalog.locations([strange, other, ("raw", "nothing")]) == expected


def test_another_branch_is_written_while_we_prepare_ours(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its commit takes the sequence number that ours was prepared with; ours is prepared again."""
    name = lake.create("a")
    lake.write("first", a=[1])
    base = lake.bases(name)[name]
    staged = lake.stage(base, Attempt(run_id="r", step="s"), [2])
    real, others = lake.catalog.commit_tables, iter([10, 11])

    def late(changes: Any) -> None:
        if (number := next(others, None)) is not None:
            lake.load(name).manage_snapshots().create_branch(base.snapshot_id or 0, f"foreign{number}").commit()
            lake.load(name).append(lake.load(name).scan().to_arrow(), branch=f"foreign{number}")
        real(changes)

    monkeypatch.setattr(lake.catalog, "commit_tables", late)
    again = lake.stage(base, Attempt(run_id="again", step="s"), [3])
    assert next(others, None) is None
    publish(lake.catalog, [again])
    assert Oracle.of(lake).rows("a") == {1: "1", 3: "3"}
    assert staged.branch in Oracle.of(lake).refs("a")
