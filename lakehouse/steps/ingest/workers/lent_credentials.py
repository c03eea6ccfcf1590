"""Credentials that a catalog lends, in the hands of workers: they are given once a job, and cannot be renewed there."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime

from lakehouse.errors import LakehouseError
from lakehouse.protocol.catalog.rest_catalog.lent_storage import current_properties
from lakehouse.protocol.seals.base import Base
from lakehouse.settings.catalogs.lent import vended


class CredentialsEnded(LakehouseError):
    """A job took longer than the credentials of its workers lasted."""


@contextmanager
def while_they_last(bases: Mapping[str, Base]) -> Generator[None]:
    """For a job whose workers write to these tables: whatever it ends in, the credentials are looked at first.

    Raises:
        CredentialsEnded: it failed, and some had ended meanwhile.
    """
    ends = {
        name: lent.ends
        for name, base in bases.items()
        if (lent := vended(current_properties(base.table.io))) is not None and lent.ends is not None
    }
    try:
        yield
    except Exception as error:
        name = min(ends, key=lambda table: ends[table], default="")
        if not name or ends[name] > datetime.now(UTC):
            raise
        raise CredentialsEnded(
            f"{name}: the credentials that the catalog lends ended at {ends[name]:%H:%M:%S} UTC, while workers wrote. "
            "Nothing was published.",
            remedy="run it again; if it comes again, read fewer records in a run (max_records_per_run in "
            "conf/lakehouse.yaml), or let the catalog lend for longer",
        ) from error
