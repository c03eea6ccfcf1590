"""Where Kafka is, and how to log in there: a file of `conf/kafka/`."""

from typing import Self

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from lakehouse.settings.models.section import Property, Section
from lakehouse.settings.plain_secret import hidden


class RegistrySettings(Section):
    """The schema registry of a Kafka: `schema_registry` in its file.

    Attributes:
        url: of a registry of Confluent's kind, `https://host:port`, with the path under which it speaks that language.
        properties: further properties of Confluent's client, such as `basic.auth.user.info`.
        timeout_seconds: how long one answer may take; it is asked three times.
    """

    url: str
    properties: dict[str, Property] = {}
    timeout_seconds: float = Field(default=10, gt=0)


class GlueRegistrySettings(Section):
    """A schema registry of AWS Glue: `glue_registry` in the file of a Kafka.

    Attributes:
        region: of the registry; otherwise as AWS' own chain has it, `AWS_DEFAULT_REGION` or the profile.
        profile: of the AWS configuration, in the place of the chain of credentials; it may name a role to assume.
        registry: its name, for schemas that `lakehouse produce` registers.
        endpoint_url: an address in the place of AWS' own.
        timeout_seconds: how long one answer may take; it is asked three times.
    """

    region: str | None = Field(default=None, pattern=r"^[a-z0-9-]+$")
    profile: str | None = None
    registry: str = "default-registry"
    endpoint_url: str | None = None
    timeout_seconds: float = Field(default=10, gt=0)


class MskIamSettings(Section):
    """Login to Amazon MSK by IAM, with what AWS' own chain of credentials brings: environment, profile, role.

    Attributes:
        region: of the cluster; otherwise what the brokers' names say, or else `AWS_REGION`.
        profile: of the AWS configuration, in the place of the chain.
        role_arn: a role to assume with the credentials of the chain.
    """

    region: str | None = Field(default=None, pattern=r"^[a-z0-9-]+$")
    profile: str | None = Field(default=None, pattern=r"^[^\"\\;]+$")
    role_arn: str | None = Field(default=None, pattern=r"^arn:[^\"\\;\s]+$")

    @model_validator(mode="after")
    def _is_unambiguous(self) -> Self:
        if self.profile and self.role_arn:
            raise PydanticCustomError("one_login", "Either profile or role_arn; a profile may itself name a role")
        return self


class KafkaSettings(Section):
    """Where Kafka is: a file of `conf/kafka/`.

    Attributes:
        bootstrap_servers: `host:port`, comma-separated.
        local: a broker of our own, that we start and stop.
        group_prefix: what the names of all our consumer groups begin with, for the cluster's access lists.
        mirror_positions: after each publish, write the position into the consumer group `<group_prefix><stream>`, for
            tools that watch lag. We never read it.
        msk_iam: Login to Amazon MSK by IAM, for both clients. Its keys are below.
        properties: further client properties in librdkafka's names; Spark's are derived from them.
        schema_registry: where schemas are, for streams whose records name theirs in Confluent's way.
        glue_registry: the same for records that name theirs in the way of AWS Glue. A topic may have both.
    """

    bootstrap_servers: str
    local: bool = False
    group_prefix: str = Field(default="lakehouse-", pattern=r"^[A-Za-z0-9._-]{1,100}$")
    mirror_positions: bool = False
    msk_iam: MskIamSettings | None = None
    properties: dict[str, Property] = {}
    schema_registry: RegistrySettings | None = None
    glue_registry: GlueRegistrySettings | None = None

    @field_validator("properties")
    @classmethod
    def _hide_secrets(cls, value: dict[str, Property]) -> dict[str, Property]:
        return {key: hidden(item, key) for key, item in value.items()}

    @model_validator(mode="after")
    def _has_one_login(self) -> Self:
        own = sorted(name for name in self.properties if name.startswith(("sasl.", "security.protocol")))
        if self.msk_iam is not None and own:
            raise PydanticCustomError(
                "one_login", "With msk_iam the property {name} is set by itself; remove it", {"name": own[0]}
            )
        return self
