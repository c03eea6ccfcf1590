"""An address of a database, checked before SQLAlchemy reads it: what that says of another repeats a password."""

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from lakehouse.settings.error import SettingsError
from lakehouse.settings.values import unseen


def require_database_address(address: str, catalog: str) -> None:
    """Refuse what is no SQLAlchemy address, without repeating any of it.

    Args:
        address: in the clear.
        catalog: the name of the catalog whose `uri` it is.

    Raises:
        SettingsError: it is none.
    """
    try:
        readable = unseen(make_url(address).database or "") is None
    except (ArgumentError, ValueError):
        readable = False
    if not readable:
        raise SettingsError(
            f"The catalog {catalog}: uri is no address of a database.",
            remedy="write dialect+driver://user:password@host:port/database; in the password, @, : and / are written "
            "%40, %3A and %2F.",
        )
