"""The storage of a catalog, by cloud: what Polaris has to know to lend credentials, and what it would refuse."""

import re
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from lakehouse.polaris.declared.names import SeenText
from lakehouse.settings.models import Section
from lakehouse.settings.values import is_readable, problem_of_key

_ROLE = re.compile(r"arn:aws[a-z-]*:iam::\d{12}:role/\S+")
_KEY = re.compile(r"arn:aws[a-z-]*:kms:[a-z0-9-]+:\d{12}:(key|alias)/\S+")
_EXTERNAL_ID = re.compile(r"[\w+=,.@:/-]{2,1224}", re.ASCII)
_TENANT = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[a-z0-9-]+(\.[a-z0-9-]+)+")
_SERVICE_ACCOUNT = re.compile(r"[a-z0-9-]+@[a-z0-9.-]+\.gserviceaccount\.com")


def _matched(pattern: re.Pattern[str], text: str | None, example: str) -> str | None:
    if text is not None and not pattern.fullmatch(text):
        raise PydanticCustomError("bad_value", "Should be {example}", {"example": example})
    return text


class S3Storage(Section):
    """S3, or a store that speaks its protocol.

    Attributes:
        type: `s3`.
        role_arn: the role that Polaris takes on for each table, in the account of the bucket; AWS' own S3 needs it.
        external_id: what the role's trust policy asks for.
        region: of the bucket.
        endpoint: of a store that is not AWS' own, as clients reach it.
        endpoint_internal: the same as Polaris reaches it.
        sts_endpoint: where Polaris takes the role on.
        sts_unavailable: the store has no STS: nothing is lent, and clients need keys of their own.
        path_style_access: buckets are a part of the path.
        kms_unavailable: the store has no KMS, and no policy on keys is asked for.
        current_kms_key: the key that files are encrypted with.
        allowed_kms_keys: further keys that files may be encrypted with.
    """

    type: Literal["s3"]
    role_arn: SeenText | None = None
    external_id: SeenText | None = None
    region: SeenText | None = None
    endpoint: SeenText | None = None
    endpoint_internal: SeenText | None = None
    sts_endpoint: SeenText | None = None
    sts_unavailable: bool = False
    path_style_access: bool = False
    kms_unavailable: bool = False
    current_kms_key: SeenText | None = None
    allowed_kms_keys: tuple[SeenText, ...] = ()

    @field_validator("role_arn")
    @classmethod
    def _is_a_role(cls, value: str | None) -> str | None:
        return _matched(_ROLE, value, "the ARN of a role such as arn:aws:iam::123456789012:role/lake")

    @field_validator("external_id")
    @classmethod
    def _is_an_external_id(cls, value: str | None) -> str | None:
        return _matched(_EXTERNAL_ID, value, "2 or more of letters, digits and + = , . @ : / - _, as AWS has it")

    @field_validator("current_kms_key")
    @classmethod
    def _is_a_key(cls, value: str | None) -> str | None:
        return _matched(_KEY, value, "the ARN of a key such as arn:aws:kms:eu-central-1:123456789012:key/…")

    @field_validator("region", "endpoint", "endpoint_internal", "sts_endpoint")
    @classmethod
    def _is_well_formed(cls, value: str | None, info: object) -> str | None:
        key = str(getattr(info, "field_name", ""))
        if value is not None and (problem := problem_of_key("region" if key == "region" else "endpoint", value)):
            raise PydanticCustomError("bad_value", "This value {problem}", {"problem": problem})
        return value

    @model_validator(mode="after")
    def _can_lend(self) -> Self:
        if self.sts_unavailable and self.role_arn is not None:
            raise _contradiction("without STS nobody takes a role on: remove role_arn, or sts_unavailable")
        if self.role_arn is None and self.endpoint is None:
            raise _contradiction("S3 of AWS needs role_arn, another store endpoint")
        if self.external_id is not None and self.role_arn is None:
            raise _contradiction("external_id belongs to a role: write role_arn")
        return self


class GcsStorage(Section):
    """Google Cloud Storage.

    Attributes:
        type: `gcs`.
        service_account: that Polaris acts as; without one it lends what its own identity may.
    """

    type: Literal["gcs"]
    service_account: SeenText | None = None

    @field_validator("service_account")
    @classmethod
    def _is_an_account(cls, value: str | None) -> str | None:
        return _matched(_SERVICE_ACCOUNT, value, "a service account such as lake@project.iam.gserviceaccount.com")


class AzureStorage(Section):
    """Azure Data Lake Storage.

    Attributes:
        type: `azure`.
        tenant_id: the tenant of the storage account.
        hierarchical: the account has a hierarchical namespace: what is lent opens one table's folder alone. It has to
            be what the account is: with `true` on a flat account nothing can be read.
    """

    type: Literal["azure"]
    tenant_id: SeenText
    hierarchical: bool = False

    @field_validator("tenant_id")
    @classmethod
    def _is_a_tenant(cls, value: str) -> str | None:
        return _matched(_TENANT, value, "a tenant's id, or its domain")


class FileStorage(Section):
    """A folder of the machine that Polaris runs on, for trials; Polaris refuses it unless it is told not to.

    Attributes:
        type: `file`.
    """

    type: Literal["file"]


CatalogStorage = Annotated[S3Storage | GcsStorage | AzureStorage | FileStorage, Field(discriminator="type")]

_LOCATIONS = {
    "s3": (re.compile(r"s3a?://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[^?#]*)?"), "s3://bucket/folder"),
    "gcs": (re.compile(r"gs://[a-z0-9][a-z0-9._-]+(/[^?#]*)?"), "gs://bucket/folder"),
    "azure": (
        re.compile(r"(abfss?|wasbs?)://[a-z0-9-]+@[a-z0-9]{3,24}\.(dfs|blob)\.[a-z0-9.]+(/[^?#]*)?"),
        "abfss://container@account.dfs.core.windows.net/folder",
    ),
    "file": (re.compile(r"file:/.*"), "file:///folder"),
}


def problem_of_location(storage: S3Storage | GcsStorage | AzureStorage | FileStorage, location: str) -> str | None:
    """What is wrong with a location on this storage; None if it may be."""
    pattern, example = _LOCATIONS[storage.type]
    if not pattern.fullmatch(location) or not is_readable(location):
        return f"should be an address such as {example}"
    if isinstance(storage, AzureStorage) and storage.hierarchical and location.startswith("wasb"):
        return "is of the flat kind (wasb), and the account is hierarchical: write abfss://…@account.dfs…"
    return None


def _contradiction(problem: str) -> PydanticCustomError:
    return PydanticCustomError("contradiction", "{problem}", {"problem": problem})
