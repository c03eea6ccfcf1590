"""The property of a lease: what it says comes back as it was written, by any release, and damage ends no lease."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from lakehouse.protocol.leases.terms import LEASE_PROPERTY, LeaseTerms, given_up, lease_property, lease_terms

OWNER = "mirror.things"


def table(**properties: str) -> Any:
    return SimpleNamespace(properties=properties)


def test_terms_are_kept_as_they_were_written_before() -> None:
    """The text is in tables of users: no release may write another."""
    terms = LeaseTerms(OWNER, datetime(2031, 5, 1, tzinfo=UTC), "it reads on", 7)
    text = '{"owner":"mirror.things","until":"2031-05-01T00:00:00Z","reason":"it reads on","snapshot_id":7}'
    assert lease_property(terms) == {LEASE_PROPERTY + OWNER: text}
    assert lease_property(LeaseTerms(OWNER)) == {LEASE_PROPERTY + OWNER: '{"owner":"mirror.things"}'}
    assert lease_terms(table(**lease_property(terms))) == {LEASE_PROPERTY + OWNER: terms}


def test_other_properties_are_no_leases() -> None:
    assert lease_terms(table(comment="{}", **{"lakehouse.owner": "ana"})) == {}


def test_terms_that_cannot_be_read_have_no_end_and_hide_no_others() -> None:
    other = LeaseTerms("mart.sums", given_up=5)
    properties = {LEASE_PROPERTY + OWNER: "{", **lease_property(other)}
    damaged = lease_terms(table(**properties))[LEASE_PROPERTY + OWNER]
    assert (damaged.owner, damaged.until) == (OWNER, None)
    assert "cannot be read" in damaged.reason
    assert given_up(table(**properties)) == {"mart.sums": 5}
