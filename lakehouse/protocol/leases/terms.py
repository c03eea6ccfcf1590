"""What a table says of the leases on it: whose each is, until when and why, in a property beside the tag."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

import msgspec
from pyiceberg.table import Table

LEASE_PROPERTY = "lakehouse.lease."


class LeaseTerms(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the property says.

    Attributes:
        snapshot_id: where the tag was set.
        given_up: the snapshot that the owner had read when its lease was ended although it has to read on: what
            follows may go, and the owner will need a rebuild. Its next lease takes the place of this.
    """

    owner: str
    until: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    reason: str = ""
    snapshot_id: int | None = None
    given_up: int | None = None


def lease_terms(table: Table) -> Mapping[str, LeaseTerms]:
    """Property → its terms, of all leases on a table; one that cannot be read says so, and has no end."""
    terms: dict[str, LeaseTerms] = {}
    for key, text in table.properties.items():
        if not key.startswith(LEASE_PROPERTY):
            continue
        try:
            terms[key] = msgspec.json.decode(text, type=LeaseTerms)
        except msgspec.DecodeError:
            terms[key] = LeaseTerms(key.removeprefix(LEASE_PROPERTY), reason=f"the property {key} cannot be read")
    return terms


def lease_property(terms: LeaseTerms) -> dict[str, str]:
    """The property that says them."""
    return {LEASE_PROPERTY + terms.owner: msgspec.json.encode(terms).decode()}


def given_up(table: Table) -> dict[str, int]:
    """Owner → the snapshot that it had read when somebody decided that what follows need not be kept for it."""
    return {terms.owner: terms.given_up for terms in lease_terms(table).values() if terms.given_up is not None}
