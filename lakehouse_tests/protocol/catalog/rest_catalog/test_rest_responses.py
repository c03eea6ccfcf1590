"""What each answer of a REST catalog to a commit means: nothing changed, perhaps changed, or never will."""

import json

import pytest
import requests
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException

from lakehouse.protocol.catalog import TableChange
from lakehouse.protocol.catalog.rest_catalog.rest_responses import (
    CommitRefusedByCatalog,
    raise_for_response,
    short_reason,
)

STALE = "Cannot add snapshot with sequence number 3 older than last sequence number 3"
STALE_FIRST = "Invalid snapshot with sequence number 3 greater than last sequence number 2"
ANSWERS = [
    (409, "Requirement failed: branch main has changed", CommitFailedException),
    (429, "slow down", CommitFailedException),
    (400, STALE, CommitFailedException),
    (400, STALE_FIRST, CommitFailedException),
    (500, "oops", CommitStateUnknownException),
    (502, "bad gateway", CommitStateUnknownException),
    (503, "restarting", CommitStateUnknownException),
    (504, "gateway timeout", CommitStateUnknownException),
    (400, "Malformed request", CommitRefusedByCatalog),
    (401, "who are you", CommitRefusedByCatalog),
    (403, "not yours", CommitRefusedByCatalog),
    (404, "no such endpoint", CommitRefusedByCatalog),
]
CHANGES = [TableChange(("raw", "a"), (), ()), TableChange(("raw", "b"), (), ())]


def answered(status: int, body: bytes) -> requests.Response:
    answer = requests.Response()
    answer.status_code, answer._content = status, body
    return answer


@pytest.mark.parametrize(("status", "text", "expected"), ANSWERS)
def test_an_answer_and_what_it_means(status: int, text: str, expected: type[Exception]) -> None:
    body = {"error": {"message": text, "type": "SomeException", "code": status}}
    with pytest.raises(expected, match=rf"raw\.a, raw\.b: the catalog answered {status} \(SomeException\)") as error:
        raise_for_response(answered(status, json.dumps(body).encode()), CHANGES)
    assert text not in str(error.value)


@pytest.mark.parametrize("body", ["a secret", '{"error": {"type": "a secret"}}', '{"error": "a secret"}'])
def test_the_words_of_a_server_are_not_repeated(body: str) -> None:
    with pytest.raises(CommitFailedException) as error:
        raise_for_response(answered(409, body.encode()), CHANGES)
    assert str(error.value) == "raw.a, raw.b: the catalog answered 409"
    assert short_reason(requests.HTTPError(body, response=answered(500, body.encode()))) == "the catalog answered 500"
    assert short_reason(ValueError(body)) == "ValueError"


@pytest.mark.parametrize("status", [200, 204])
def test_a_commit_that_was_done_raises_nothing(status: int) -> None:
    raise_for_response(answered(status, b""), CHANGES)
