"""How our clients reach Kafka: the settings, told to librdkafka in its names and to Java (Spark) in Java's.

Settings are written in librdkafka's names. What comes out of here holds secrets in the clear, because the clients want
them so; it shows none of them when it is printed or logged.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from pydantic import SecretStr

from lakehouse.errors import LakehouseError
from lakehouse.settings import KafkaSettings

JAVA_PREFIX = "java."
SECRET = re.compile(r"password|secret|jaas|token|\.key$|\.key\.pem$|keystore\.key", re.IGNORECASE)

# Properties of librdkafka's network layer and logging. Java has knobs of its own for these and needs none of them.
LIBRDKAFKA_ONLY = re.compile(
    r"(socket|broker|topic\.metadata|statistics|api\.version|log|queue|queued|enable|internal|open|plugin|fetch\.error)"
    r"\..*|debug|log_level|builtin\.features|isolation\.level|auto\.offset\.reset"
)

# Same meaning, other name. A value of None: told together with another property (see _jaas and _keystore).
JAVA_NAMES: dict[str, str | None] = {
    "sasl.mechanisms": "sasl.mechanism",
    "sasl.username": None,
    "sasl.password": None,
    "ssl.ca.location": "ssl.truststore.location",
    "ssl.ca.pem": "ssl.truststore.certificates",
    "ssl.certificate.location": None,
    "ssl.certificate.pem": "ssl.keystore.certificate.chain",
    "ssl.key.location": None,
    "ssl.key.pem": "ssl.keystore.key",
}

LOGIN_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


class UnsupportedKafkaSecurity(LakehouseError):
    """A way to log in that we cannot tell to both librdkafka and Java."""


class ClientProperties(dict[str, str]):
    """Properties for a client; printing them hides the secret ones."""

    def __repr__(self) -> str:
        return repr({name: "**********" if SECRET.search(name) else value for name, value in self.items()})

    __str__ = __repr__


def client_config(kafka: KafkaSettings) -> ClientProperties:
    """What librdkafka's producers, consumers and admin clients need to reach the cluster."""
    properties = {
        name: value for name, value in _revealed(kafka.properties).items() if not name.startswith(JAVA_PREFIX)
    }
    return ClientProperties({"bootstrap.servers": kafka.bootstrap_servers, **properties})


def spark_options(kafka: KafkaSettings) -> ClientProperties:
    """The same for Spark's Kafka source: Java's names, each with the prefix `kafka.`.

    A property written as `java.<name>` is for Java alone and wins over what is derived from the others.

    Raises:
        UnsupportedKafkaSecurity: The SASL mechanism has no translation.
    """
    properties = _revealed(kafka.properties)
    java = {"bootstrap.servers": kafka.bootstrap_servers}
    for name, value in properties.items():
        if name.startswith(JAVA_PREFIX):
            continue
        java_name = JAVA_NAMES.get(name, None if LIBRDKAFKA_ONLY.fullmatch(name) else name)
        if java_name is not None:
            java[java_name] = value
    for extra in (_jaas, _keystore, _truststore, _hostname_check):
        java |= extra(properties)
    java |= {n.removeprefix(JAVA_PREFIX): value for n, value in properties.items() if n.startswith(JAVA_PREFIX)}
    return ClientProperties({f"kafka.{name}": value for name, value in java.items()})


def _revealed(properties: Mapping[str, str | SecretStr]) -> dict[str, str]:
    return {
        name: value.get_secret_value() if isinstance(value, SecretStr) else value for name, value in properties.items()
    }


def _jaas(properties: Mapping[str, str]) -> dict[str, str]:
    """User and password are one property in Java, in a small language of its own."""
    mechanism = properties.get("sasl.mechanisms", properties.get("sasl.mechanism"))
    if mechanism is None or f"{JAVA_PREFIX}sasl.jaas.config" in properties:
        return {}
    if mechanism not in LOGIN_MODULES:
        raise UnsupportedKafkaSecurity(
            f"Kafka property sasl.mechanisms is {mechanism}, which is not told to Spark by itself.",
            remedy=f"use one of {', '.join(LOGIN_MODULES)}, or give Java its own: java.sasl.jaas.config.",
        )
    user, password = (_quoted(properties.get(f"sasl.{name}", "")) for name in ("username", "password"))
    return {"sasl.jaas.config": f"{LOGIN_MODULES[mechanism]} required username={user} password={password};"}


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _keystore(properties: Mapping[str, str]) -> dict[str, str]:
    """Certificate and key: librdkafka reads two PEM files, Java takes two PEM texts."""
    files = {
        "ssl.keystore.certificate.chain": properties.get("ssl.certificate.location"),
        "ssl.keystore.key": properties.get("ssl.key.location"),
    }
    texts = {name: Path(file).read_text(encoding="utf-8") for name, file in files.items() if file is not None}
    has_keystore = texts or "ssl.certificate.pem" in properties
    return texts | ({"ssl.keystore.type": "PEM"} if has_keystore else {})


def _truststore(properties: Mapping[str, str]) -> dict[str, str]:
    return {"ssl.truststore.type": "PEM"} if {"ssl.ca.location", "ssl.ca.pem"} & properties.keys() else {}


def _hostname_check(properties: Mapping[str, str]) -> dict[str, str]:
    """`none` switches the check of the host name off for librdkafka; for Java the empty string does."""
    algorithm = properties.get("ssl.endpoint.identification.algorithm")
    return {"ssl.endpoint.identification.algorithm": ""} if algorithm == "none" else {}


def onlooker_config(kafka: KafkaSettings, purpose: str) -> dict[str, str | int | bool]:
    """Configuration of a consumer that is assigned its partitions, belongs to no group and stores no offset.

    Args:
        kafka: how to reach the cluster.
        purpose: what it looks at, for the group's name, which librdkafka demands and `assign()` never joins.
    """
    return {
        **client_config(kafka),
        "group.id": f"lakehouse-{purpose}",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
    }
