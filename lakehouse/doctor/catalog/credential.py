"""A credential that a catalog lends: whose it is, what it opens, and until when. Never its value."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from lakehouse.doctor.catalog.identity import identity
from lakehouse.doctor.finding import Diagnosis, examined, not_asked, warning, well, wrong
from lakehouse.settings import CatalogSettings
from lakehouse.settings.catalogs.keys import DELEGATION
from lakehouse.settings.catalogs.lent import STRAY_EXPIRY, Vended, sas_facts, vended

_SHORTEST = 300  # seconds: clients renew five minutes before the end


def credential(properties: Mapping[str, str], settings: CatalogSettings, location: str) -> Iterator[Diagnosis]:
    """What the catalog gave for a table, and whether both clients will ask for it.

    Args:
        properties: as the catalog answered.
        settings: of the catalog.
        location: of the table.
    """
    lent = vended(properties)
    yield from location_form(location, properties)
    if settings.file_storage == "s3" or (lent and lent.storage == "s3"):
        yield from region(properties, settings)
    if lent is None:
        yield from _none_lent(settings, location)
        return
    if settings.access is None and DELEGATION not in settings.properties:
        yield wrong(
            "delegation",
            "The catalog lends credentials, and Spark will not ask for them: its header "
            f"{DELEGATION.removeprefix('header.')} is missing.",
            "write access: vended into the catalog's file",
        )
    yield from examined("identity", identity(lent, properties, settings))
    yield _expiry(lent)


def _none_lent(settings: CatalogSettings, location: str) -> Iterator[Diagnosis]:
    if settings.access == "vended":
        yield wrong(
            "credential",
            "The catalog was asked for a credential and lends none.",
            "where its store has no STS write access: static with the store's keys; in Polaris look at stsUnavailable "
            "and SKIP_CREDENTIAL_SUBSCOPING_INDIRECTION",
        )
    elif location.startswith("file:") or settings.access is not None:
        yield not_asked("credential", "the catalog lends none, and none is wanted")
    else:
        yield not_asked("credential", "the catalog lends none; clients need keys of their own")


def _expiry(lent: Vended) -> Diagnosis:
    names = ", ".join(lent.names)
    if lent.ends is None:
        return wrong(
            "expiry",
            f"{names} come without an expiry that Iceberg's clients know: none can renew in time.",
            "upgrade the catalog (Polaris 1.2 or later), or keep each run shorter than the credential holds",
        )
    if lent.stray:
        return wrong(
            "expiry",
            f"{names} end at {lent.ends:%H:%M} UTC by {STRAY_EXPIRY}, which Iceberg's Java clients do not know.",
            "upgrade Polaris to 1.2 or later, which says adls.sas-token-expires-at-ms",
        )
    left = (lent.ends - datetime.now(UTC)).total_seconds()
    if left <= 0:
        return wrong("expiry", f"What was just lent ended {-left:.0f} s ago.", "set the clocks of both sides by NTP")
    message = f"{names} hold until {lent.ends:%H:%M:%S} UTC, {left:.0f} s from now"
    if left < _SHORTEST:
        return warning("expiry", f"{message}.", "let the catalog lend for 900 s or more")
    return well("expiry", message)


def location_form(location: str, properties: Mapping[str, str]) -> Iterator[Diagnosis]:
    """Azure's old scheme: `wasb` speaks to the blob endpoint, which knows no directories.

    Args:
        location: of a table.
        properties: of its storage.
    """
    scheme = location.partition(":")[0]
    if scheme not in ("wasb", "wasbs"):
        return
    directory = any(sas_facts(value).directory for key, value in properties.items() if key.startswith("adls.sas-token"))
    remedy = "write the base location of the catalog, and its allowed locations, as abfss://…dfs.core.windows.net/"
    if directory:
        message = (
            f"The table lies at {scheme}://, on an account with a hierarchical namespace; its SAS is a directory's."
        )
        yield wrong("location", message, remedy)
    else:
        yield warning("location", f"The table lies at {scheme}://, Azure's old scheme.", remedy)


def region(properties: Mapping[str, str], settings: CatalogSettings) -> Iterator[Diagnosis]:
    """The region of a bucket: as the file says it, and as the catalog does.

    Args:
        properties: as the catalog answered.
        settings: of the catalog.
    """
    theirs = properties.get("client.region", properties.get("s3.region"))
    if settings.region and theirs and settings.region != theirs:
        yield wrong(
            "region",
            f"The catalog's file says {settings.region}, and the catalog {theirs}.",
            f"write region: {theirs}, or remove the key",
        )
    elif settings.region or theirs:
        yield well("region", f"the bucket is in {settings.region or theirs}")
    elif "s3.region" not in settings.properties:
        yield warning("region", "Nobody says in which region the bucket is.", "write region into the catalog's file")
