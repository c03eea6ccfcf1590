"""In which storage an address is, and which JARs Spark needs for it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from lakehouse.settings.catalogs.keys import Storage

JarSet = Literal["aws", "gcp", "azure", "postgresql"]
_SCHEMES: Mapping[str, Storage] = MappingProxyType(
    {
        "s3": "s3",
        "s3a": "s3",
        "s3n": "s3",
        "gs": "gcs",
        "abfs": "adls",
        "abfss": "adls",
        "wasb": "adls",
        "wasbs": "adls",
    }
)
JARS_OF: Mapping[Storage, JarSet] = MappingProxyType({"s3": "aws", "gcs": "gcp", "adls": "azure"})


def storage_of(address: str) -> Storage | None:
    """The storage that an address is in, by its scheme; None for a disk, or where it is no address."""
    scheme, separator, _ = address.partition("://")
    return _SCHEMES.get(scheme.lower()) if separator else None


def jar_sets(storage: Storage | None, address: str) -> tuple[JarSet, ...]:
    """The sets of JARs, folders of `conf/jars/`, that Spark needs beside its own.

    Args:
        storage: where the tables are.
        address: of the catalog; only its scheme is looked at.
    """
    database: tuple[JarSet, ...] = ("postgresql",) if address.partition(":")[0].startswith("postgresql") else ()
    return (*database, *((JARS_OF[storage],) if storage else ()))
