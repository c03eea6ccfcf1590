"""Vended credentials: whose, until when, and whether those of one table open another."""

import time
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from lakehouse.acceptance.credential_trials import expiry, scope
from lakehouse.acceptance.scratch import Scratch
from lakehouse.acceptance.trial import NotSeen, PromiseBroken

SECRET = "hunter2"
S3 = {"s3.access-key-id": "a", "s3.secret-access-key": SECRET, "s3.session-token": SECRET}


@dataclass
class Place:
    """A catalog that vends these properties, over a store that lets everything or nothing be read."""

    vended: dict[str, str]
    own: dict[str, str] = field(default_factory=dict[str, str])
    readable: bool = False

    @property
    def settings(self) -> Any:
        return type("Settings", (), {"catalog": type("Catalog", (), {"properties": self.own})})

    @property
    def catalog(self) -> "Place":
        return self

    @property
    def io(self) -> "Place":
        return self

    @property
    def properties(self) -> dict[str, str]:
        return self.own | self.vended

    metadata_location = "s3://bucket/other/0.metadata.json"

    def name(self, short: str) -> str:
        return short

    def load_table(self, _: str) -> "Place":
        return self

    def new_input(self, _: str) -> "Place":
        return self

    def open(self) -> "Place":
        if not self.readable:
            raise PermissionError("AccessDenied")
        return self

    def __enter__(self) -> "Place":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def read(self, _: int) -> bytes:
        return b"{"


def in_seconds(seconds: float) -> str:
    """Milliseconds since 1970, of so many seconds from now: asked within a test, which may run an hour after import."""
    return str(int((time.time() + seconds) * 1000))


def place(vended: dict[str, str], **more: Any) -> Scratch:
    return cast("Scratch", Place(vended, **more))


@pytest.mark.parametrize(
    ("secrets", "expires"),
    [
        (S3, "s3.session-token-expires-at-ms"),
        ({"adls.sas-token.account": SECRET}, "adls.sas-token-expires-at-ms.account"),
        ({"adls.sas-token.account": SECRET}, "expiration-time"),
        ({"gcs.oauth2.token": SECRET}, "gcs.oauth2.token-expires-at"),
    ],
)
def test_what_is_vended_and_until_when_is_told_without_its_value(secrets: dict[str, str], expires: str) -> None:
    evidence = expiry(place({**secrets, expires: in_seconds(900)}))
    assert "from now" in evidence
    assert SECRET not in evidence
    with pytest.raises(PromiseBroken, match="compare the clocks"):
        expiry(place({**secrets, expires: in_seconds(-60)}))
    with pytest.raises(NotSeen, match="without an expiry"):
        expiry(place(secrets))


def test_credentials_of_ones_own_are_not_vended() -> None:
    for trial in (expiry, scope):
        with pytest.raises(NotSeen, match="vends no credentials"):
            trial(place(S3, own=S3))


def test_a_store_that_opens_another_table_breaks_the_scope() -> None:
    assert "PermissionError" in scope(place(S3))
    with pytest.raises(PromiseBroken, match="read the files of another"):
        scope(place(S3, readable=True))
