"""What a catalog lends: whose property is a secret, until when it holds, and what it opens. Never its value.

Property names are those of Iceberg's clients: `S3FileIOProperties`, `AzureProperties`, `GCPProperties` (1.12). A SAS of
Azure says in the clear what it opens (Azure, "Create a user delegation SAS").
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import parse_qs

from lakehouse.settings.catalogs.keys import Storage

_SECRETS: Mapping[Storage, re.Pattern[str]] = {
    "s3": re.compile(r"s3\.session-token$"),
    "adls": re.compile(r"adls\.sas-token(\.|$)"),
    "gcs": re.compile(r"gcs\.oauth2\.token$"),
}
_EXPIRY = re.compile(
    r"s3\.session-token-expires-at-ms$|adls\.sas-token-expires-at-ms(\.|$)|gcs\.oauth2\.token-expires-at$"
)
STRAY_EXPIRY = "expiration-time"
"""What Polaris before 1.2 called the expiry of a SAS; Iceberg's clients in Java do not know it."""
_MOST_DIGITS = 14  # of milliseconds since 1970: the year 5138
_RESOURCES = {"d": "a directory", "c": "a container", "b": "a file"}


@dataclass(frozen=True)
class Vended:
    """A credential that a catalog lends for one table.

    Attributes:
        storage: which store it is for.
        names: the properties that hold it.
        ends: when it ends, UTC; None if no property says so.
        stray: whether only `expiration-time` says so.
    """

    storage: Storage
    names: tuple[str, ...]
    ends: datetime | None
    stray: bool


def vended(properties: Mapping[str, str]) -> Vended | None:
    """The credential among properties; None if there is none.

    Args:
        properties: that the catalog gave for a table.
    """
    for storage, pattern in _SECRETS.items():
        if names := sorted(key for key in properties if pattern.match(key)):
            known = [_moment(value) for key, value in properties.items() if _EXPIRY.match(key)]
            ends = [moment for moment in known if moment is not None]
            stray = _moment(properties.get(STRAY_EXPIRY, ""))
            return Vended(storage, tuple(names), min(ends, default=stray), not ends and stray is not None)
    return None


@dataclass(frozen=True)
class SasFacts:
    """What a SAS says in the clear.

    Attributes:
        resource: `a directory`, `a container` or `a file`.
        directory: whether it is a directory's, which only an account with a hierarchical namespace has.
        permissions: letters, such as `rwdl`.
        owner: object id of the principal whose key has signed it; empty if it is an account's.
        tenant: of that principal.
    """

    resource: str
    directory: bool
    permissions: str
    owner: str
    tenant: str


def sas_facts(token: str) -> SasFacts:
    """What a SAS says in the clear; nothing of its signature."""
    fields = {key: values[0] for key, values in parse_qs(token.lstrip("?")).items()}
    kind = fields.get("sr", "")
    resource = _RESOURCES.get(kind, "the account")
    return SasFacts(resource, kind == "d", fields.get("sp", ""), fields.get("skoid", ""), fields.get("sktid", ""))


def _moment(value: object) -> datetime | None:
    """A moment in milliseconds since 1970, which a catalog may also write as a number; None if it is none."""
    text = str(value)
    known = text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS
    return datetime.fromtimestamp(int(text) / 1000, UTC) if known else None
