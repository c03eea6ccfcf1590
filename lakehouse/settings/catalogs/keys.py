"""The keys of a catalog's file, and the property that each becomes in PyIceberg and in Iceberg's Java side.

Names are those of Iceberg's `S3FileIOProperties`, `AwsClientProperties`, `GCPProperties`, `AzureProperties`,
`OAuth2Properties` (1.12) and of `pyiceberg.io` (0.12).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Side = Literal["python", "java"]
Storage = Literal["s3", "gcs", "adls"]
DELEGATION = "header.X-Iceberg-Access-Delegation"
_DELEGATIONS = {"vended": "vended-credentials", "remote-signing": "remote-signing"}
_FILE_IO = {
    "s3": "org.apache.iceberg.aws.s3.S3FileIO",
    "gcs": "org.apache.iceberg.gcp.gcs.GCSFileIO",
    "adls": "org.apache.iceberg.azure.adlsv2.ADLSFileIO",
}


@dataclass(frozen=True)
class CatalogKey:
    """One key of a catalog's file.

    Attributes:
        setting: its name in the file.
        python: PyIceberg's property; None if PyIceberg needs none.
        java: Iceberg's property in Java; None if it needs none.
        origin: where a person finds the value.
        storages: in which storage it means something; empty for all.
        python_values: what PyIceberg's property is for a value of the setting, where that differs; None: left out.
        java_values: the same for Java.
    """

    setting: str
    python: str | None
    java: str | None
    origin: str
    storages: tuple[Storage, ...] = ()
    python_values: Mapping[str, str | None] | None = None
    java_values: Mapping[str, str | None] | None = None

    def name(self, side: Side) -> str | None:
        """The property's name on one side."""
        return self.python if side == "python" else self.java

    def value(self, side: Side, text: str) -> str | None:
        """The property's value on one side; None if it is left out.

        Args:
            side: whose.
            text: what the file says, `true` and `false` for a truth value.
        """
        values = self.python_values if side == "python" else self.java_values
        return values.get(text, text) if values else text


KEYS: tuple[CatalogKey, ...] = (
    CatalogKey(
        "storage",
        None,
        "io-impl",
        "where the tables' files are; of an address it is known by itself",
        java_values=_FILE_IO,
    ),
    CatalogKey(
        "access",
        DELEGATION,
        DELEGATION,
        "whether the catalog lends credentials, signs requests, or you give keys",
        # PyIceberg asks for vended credentials by itself, unless its header is there already.
        python_values=MappingProxyType({**_DELEGATIONS, "static": ""}),
        java_values=MappingProxyType({**_DELEGATIONS, "static": None}),
    ),
    CatalogKey("realm", "header.Polaris-Realm", "header.Polaris-Realm", "Polaris' `polaris.realm-context.realms`"),
    CatalogKey("scope", "scope", "scope", "`PRINCIPAL_ROLE:ALL`, or a principal role's name after the colon"),
    CatalogKey(
        "oauth2_server_uri",
        "oauth2-server-uri",
        "oauth2-server-uri",
        "the identity provider's token address; by default the catalog's own",
    ),
    CatalogKey("region", "s3.region", "client.region", "the bucket's region; a catalog that vends sends it", ("s3",)),
    CatalogKey("endpoint", "s3.endpoint", "s3.endpoint", "the store's address, where it is not AWS' own", ("s3",)),
    CatalogKey(
        "path_style",
        "s3.force-virtual-addressing",
        "s3.path-style-access",
        "true for most stores that are not AWS' own",
        ("s3",),
        python_values=MappingProxyType({"true": "false", "false": "true"}),
    ),
    CatalogKey("project", "gcs.project-id", "gcs.project-id", "the id of the Google Cloud project", ("gcs",)),
    CatalogKey("endpoint", "gcs.service.host", "gcs.service.host", "only for an emulator", ("gcs",)),
    CatalogKey("account", "adls.account-name", None, "the storage account; Java reads it from the address", ("adls",)),
)
# Properties that the two sides call by other names; those of PyIceberg are written into the file.
RENAMED: Mapping[str, str] = MappingProxyType(
    {
        "s3.region": "client.region",
        "user": "jdbc.user",
        "password": "jdbc.password",
        "adls.account-name": "adls.auth.shared-key.account.name",
        "adls.account-key": "adls.auth.shared-key.account.key",
    }
)
# Settings of PyIceberg that mean nothing to Iceberg's Java side, or the opposite of what its own key would.
PYTHON_ONLY = ("py-", "pool_", "echo", "init_catalog_tables", "downcast-ns-timestamp-to-us-on-write")
# What a client holds that opens the store by itself.
STORAGE_KEYS = (
    "s3.access-key-id",
    "s3.secret-access-key",
    "s3.session-token",
    "adls.account-key",
    "adls.connection-string",
    "adls.sas-token",
    "adls.client-secret",
    "gcs.oauth2.token",
)


def keys_of(storage: Storage | None) -> tuple[CatalogKey, ...]:
    """The keys that mean something where tables are in this storage."""
    return tuple(key for key in KEYS if not key.storages or storage in key.storages)
