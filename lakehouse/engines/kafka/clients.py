"""How our clients reach Kafka: the settings, told to librdkafka in its names and to Java (Spark) in Java's.

Settings are written in librdkafka's names. What comes out of here holds secrets in the clear, because the clients want
them so; it shows none of them when it is printed or logged.
"""

import re
from collections.abc import Mapping

from pydantic import SecretStr
from typing_extensions import TypeVar

from lakehouse.engines.kafka.security.java_properties import JAVA_PREFIX, java_properties
from lakehouse.engines.kafka.security.msk_iam import TokenCallback, java_login, token_callback
from lakehouse.settings import KafkaSettings
from lakehouse.settings.plain_secret import names_a_secret
from lakehouse.settings.secret import revealed

SECRET = re.compile(r"password|secret|jaas|token|assertion|\.key$|\.key\.pem$|keystore\.key", re.IGNORECASE)

Value = TypeVar("Value", default=str)
ConsumerValue = str | int | bool | TokenCallback


class ClientProperties(dict[str, Value]):
    """Properties for a client; printing them hides the secret ones."""

    def __repr__(self) -> str:
        return repr({name: "**********" if is_secret(name) else value for name, value in self.items()})

    __str__ = __repr__


def is_secret(name: str) -> bool:
    """Whether the property of a client may hold a secret."""
    return SECRET.search(name) is not None or names_a_secret(name)


def client_config(kafka: KafkaSettings) -> "ClientProperties[str | TokenCallback]":
    """What librdkafka's producers, consumers and admin clients need to reach the cluster.

    Raises:
        MskLoginFailed: AWS' credentials are not to be had.
        ExtraMissing: the cluster is one of MSK's, and AWS' signer is not installed.
    """
    properties: ClientProperties[str | TokenCallback] = ClientProperties(
        {"bootstrap.servers": kafka.bootstrap_servers}
        | {name: value for name, value in _revealed(kafka.properties).items() if not name.startswith(JAVA_PREFIX)}
    )
    if kafka.msk_iam is not None:
        properties |= {"security.protocol": "SASL_SSL", "sasl.mechanisms": "OAUTHBEARER"}
        properties["oauth_cb"] = token_callback(kafka.msk_iam, kafka.bootstrap_servers)
    return properties


def spark_options(kafka: KafkaSettings) -> ClientProperties:
    """The same for Spark's Kafka source: Java's names, each with the prefix `kafka.`.

    A property written as `java.<name>` is for Java alone and wins over what is derived from the others.

    Raises:
        UnsupportedKafkaSecurity: The login has no translation.
    """
    java = {"bootstrap.servers": kafka.bootstrap_servers}
    if kafka.msk_iam is not None:
        java |= java_login(kafka.msk_iam)
    java |= java_properties(_revealed(kafka.properties))
    group = {"groupIdPrefix": f"{kafka.group_prefix}spark"}
    return ClientProperties(group | {f"kafka.{name}": value for name, value in java.items()})


def _revealed(properties: Mapping[str, str | SecretStr]) -> dict[str, str]:
    return {name: revealed(value) for name, value in properties.items()}


def onlooker_config(kafka: KafkaSettings, purpose: str) -> "ClientProperties[ConsumerValue]":
    """Configuration of a consumer that is assigned its partitions, belongs to no group and stores no offset.

    Args:
        kafka: how to reach the cluster.
        purpose: what it looks at, for the group's name, which librdkafka demands and `assign()` never joins.
    """
    return ClientProperties(
        {
            **client_config(kafka),
            "group.id": f"{kafka.group_prefix}{purpose}",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
