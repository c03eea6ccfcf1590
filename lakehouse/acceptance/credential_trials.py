"""Trials of credentials that a catalog vends: whose they are, until when, and that those of one table open no other.

The properties by which a catalog answers are those of Iceberg's clients (`s3.session-token` and its like); of Azure
both spellings of the expiry are known.
"""

from datetime import UTC, datetime

from pyiceberg.table import Table

from lakehouse.acceptance.scratch import NUMBERS, Scratch
from lakehouse.acceptance.trial import NotSeen, PromiseBroken, require
from lakehouse.settings.catalogs.lent import Vended, vended


def expiry(scratch: Scratch) -> str:
    """Whether credentials are vended, and until when."""
    lent = _vended(scratch, scratch.catalog.load_table(scratch.name(NUMBERS[0])))
    kinds = ", ".join(lent.names)
    if lent.ends is None:
        raise NotSeen(
            f"{kinds} are vended without an expiry that Iceberg's clients know",
            "upgrade the catalog: clients cannot renew in time what does not say when it ends",
        )
    left = (lent.ends - datetime.now(UTC)).total_seconds()
    require(left > 0, f"what the catalog has just vended ended {-left:.0f} s ago: compare the clocks")
    return f"{kinds}, until {lent.ends:%H:%M:%S} UTC, {left:.0f} s from now"


def scope(scratch: Scratch) -> str:
    """Whether the credentials of one table read another's files."""
    mine, other = (scratch.catalog.load_table(scratch.name(short)) for short in NUMBERS)
    _vended(scratch, mine)
    try:
        with mine.io.new_input(other.metadata_location).open() as stream:
            stream.read(1)
    except Exception as refused:  # noqa: BLE001 - each store refuses in an error of its own
        return f"the store refuses the files of another table ({type(refused).__name__})"
    raise PromiseBroken("the credentials of one table read the files of another: the store does not keep their scope")


def _vended(scratch: Scratch, table: Table) -> Vended:
    """What the catalog lends for this table."""
    own = scratch.settings.catalog.properties
    lent = vended({key: str(value) for key, value in table.io.properties.items() if key not in own})
    if lent is None:
        raise NotSeen(
            "the catalog vends no credentials: clients have their own",
            "nothing, if that is wanted; otherwise let the catalog vend them, and ask for it in conf/catalogs",
        )
    return lent
