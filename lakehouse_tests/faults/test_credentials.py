"""Credentials of a catalog that end in the middle of a step: renewed, or named with what to do; nothing is half there.

Guarded mechanism: a commit that is refused with 401 was not done, so it is sent again with another token.
"""

from typing import Any

import pytest
from pyiceberg.exceptions import OAuthError
from requests import PreparedRequest, Response

from lakehouse.errors import LakehouseError
from lakehouse.protocol.catalog.rest_catalog.rest import RestLakeCatalog
from lakehouse.protocol.commit import publish
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse_tests.fixtures.lakes import Lake

pytestmark = pytest.mark.rest
TABLES = ("a", "b")


class Token:
    """Stands before a catalog: from some request on it answers 401, until there is another token."""

    def __init__(self, lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
        assert isinstance(lake.catalog, RestLakeCatalog)
        self.valid, self.renewable, self.renewed, self.ends_at = True, True, 0, ""
        session = lake.catalog._session
        self._send = session.send
        monkeypatch.setattr(session, "send", self.send)
        monkeypatch.setattr(lake.catalog, "_refresh_token", self.renew)

    def send(self, request: PreparedRequest, **more: Any) -> Response:
        """One request."""
        if self.ends_at and self.ends_at in f"{request.method} {request.url}":
            self.valid, self.ends_at = False, ""
        if self.valid:
            return self._send(request, **more)
        answer = Response()
        answer.status_code, answer.request, answer.url = 401, request, request.url or ""
        answer._content = b'{"error": {"message": "expired", "type": "NotAuthorizedException", "code": 401}}'
        return answer

    def renew(self) -> None:
        """As PyIceberg asks for another."""
        if not self.renewable:
            raise OAuthError("invalid_client")
        self.valid, self.renewed = True, self.renewed + 1


def two_tables(lake: Lake) -> list[str]:
    """With a row each."""
    names = [lake.create(name) for name in TABLES]
    lake.write("first", a=[1], b=[1])
    return names


def test_a_token_that_ends_before_the_commit_is_renewed(rest_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    names = two_tables(rest_lake)
    bases, work = rest_lake.bases(*names), Attempt("run", "step")
    staged = [rest_lake.stage(bases[name], work, [2]) for name in names]
    token = Token(rest_lake, monkeypatch)
    token.ends_at = "transactions/commit"
    publish(rest_lake.catalog, staged)
    assert token.renewed == 1
    assert [rest_lake.rows(name) for name in names] == [[1, 2]] * 2


@pytest.mark.parametrize("point", ["staging", "publishing", "transactions/commit"])
def test_credentials_that_end_within_a_step(rest_lake: Lake, monkeypatch: pytest.MonkeyPatch, point: str) -> None:
    names = two_tables(rest_lake)
    bases, work = rest_lake.bases(*names), Attempt("run", "step")
    token = Token(rest_lake, monkeypatch)
    token.renewable = False
    staged = [] if point == "staging" else [rest_lake.stage(bases[name], work, [2]) for name in names]
    token.valid, token.ends_at = "/" in point, point if "/" in point else ""
    with pytest.raises(LakehouseError, match="nothing was published; renew the credentials"):
        publish(rest_lake.catalog, staged or [rest_lake.stage(bases[name], work, [2]) for name in names])
    token.renewable = token.valid = True
    assert [rest_lake.rows(name) for name in names] == [[1]] * 2
    rest_lake.write("next", a=[3], b=[3])
    assert [rest_lake.rows(name) for name in names] == [[1, 3]] * 2
