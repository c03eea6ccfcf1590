"""What is wrong with a catalog's file by itself: nobody has to be asked."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import cast

from lakehouse.doctor.finding import Diagnosis, not_asked, well, wrong
from lakehouse.settings import CatalogSettings, Settings, SettingsError
from lakehouse.settings.catalogs.properties import python_properties

IDENTITY_FILE = "GOOGLE_APPLICATION_CREDENTIALS"


def written_keys(catalog: CatalogSettings) -> Iterator[Diagnosis]:
    """The catalog's secrets can be read, and its credential has two parts."""
    try:
        properties = python_properties(catalog)
    except SettingsError as error:
        yield wrong("secrets", error.message, error.remedy)
        return
    yield well("secrets", "every variable and file that the catalog's file refers to can be read")
    credential = properties.get("credential")
    if credential is not None:
        yield credential_form(credential)


def credential_form(credential: str) -> Diagnosis:
    """A credential is `id:secret` (OAuth2, RFC 6749 section 2.3.1); its value is not repeated."""
    client, colon, secret = credential.partition(":")
    if client and colon and secret:
        return well("credential", "the credential has the form id:secret")
    return wrong(
        "credential",
        "The catalog's credential is not of the form id:secret.",
        "put the client id, a colon and the client secret into what `credential` refers to; Polaris prints both when "
        "a principal is made",
    )


def identity_file(settings: Settings) -> Iterator[Diagnosis]:
    """Google's identity file is of the project that the catalog's file names, where clients use it."""
    catalog = settings.catalog
    path = os.environ.get(IDENTITY_FILE)
    if catalog.file_storage != "gcs" or catalog.access == "vended" or not path:
        return
    yield _identity(catalog, Path(path))


def _identity(catalog: CatalogSettings, path: Path) -> Diagnosis:
    try:
        written = cast("object", json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        return wrong("identity", f"{IDENTITY_FILE}: {path}: {error.strerror}.", "name a file that can be read")
    except ValueError:
        written = None
    if not isinstance(written, dict):
        return wrong("identity", f"{IDENTITY_FILE}: {path} is no JSON.", "download the service account's key anew")
    keys = cast("dict[str, object]", written)
    project, email = str(keys.get("project_id") or ""), str(keys.get("client_email") or "")
    if not project or not catalog.project:
        return not_asked("identity", f"{path} is of {email or 'somebody'}; it or the catalog's file names no project")
    if project == catalog.project:
        return well("identity", f"{path} is of {email}, in the project {project}")
    return wrong(
        "identity",
        f"{IDENTITY_FILE}: {path} is of {email}, in the project {project}; the catalog's file says {catalog.project}.",
        f"name the file of a service account of {catalog.project}, or correct `project` if this one may use the bucket",
    )


def storage_extra(settings: Settings) -> Iterator[Diagnosis]:
    """Addresses of Azure are readable by Hadoop's old names too; which are risky is said with the credential."""
    if settings.catalog.file_storage != "adls":
        return
    from importlib.util import find_spec

    if find_spec("adlfs") is None:
        yield wrong(
            "storage client",
            "PyIceberg's client of Azure, adlfs, is not installed.",
            "pip install 'sealed-lakehouse[azure]'",
        )
