"""Properties of librdkafka in the names, and the small languages, of Kafka's Java client.

Sources: librdkafka's CONFIGURATION.md; Kafka's `SaslConfigs`, `SslConfigs` and `OAuthBearerLoginCallbackHandler`.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from lakehouse.errors import LakehouseError

JAVA_PREFIX = "java."

# Properties of librdkafka's network layer and logging. Java has knobs of its own for these and needs none of them.
LIBRDKAFKA_ONLY = re.compile(
    r"(socket|broker|topic\.metadata|statistics|api\.version|log|queue|queued|enable|internal|open|plugin|fetch\.error"
    r"|https)\..*|debug|log_level|builtin\.features|isolation\.level|auto\.offset\.reset"
)

# Same meaning, other name. A value of None: told together with another property (see _login, _keystore).
JAVA_NAMES: dict[str, str | None] = {
    "sasl.mechanisms": "sasl.mechanism",
    "sasl.username": None,
    "sasl.password": None,
    "sasl.oauthbearer.method": None,
    "sasl.oauthbearer.client.id": None,
    "sasl.oauthbearer.client.secret": None,
    "sasl.oauthbearer.scope": None,
    "sasl.oauthbearer.extensions": None,
    "sasl.oauthbearer.grant.type": None,
    "ssl.ca.location": "ssl.truststore.location",
    "ssl.ca.pem": "ssl.truststore.certificates",
    "ssl.certificate.location": None,
    "ssl.certificate.pem": "ssl.keystore.certificate.chain",
    "ssl.key.location": None,
    "ssl.key.pem": "ssl.keystore.key",
}

_SECURITY = "org.apache.kafka.common.security"
LOGIN_MODULES = {
    "PLAIN": f"{_SECURITY}.plain.PlainLoginModule",
    "SCRAM-SHA-256": f"{_SECURITY}.scram.ScramLoginModule",
    "SCRAM-SHA-512": f"{_SECURITY}.scram.ScramLoginModule",
    "OAUTHBEARER": f"{_SECURITY}.oauthbearer.OAuthBearerLoginModule",
}
_OIDC_HANDLER = f"{_SECURITY}.oauthbearer.secured.OAuthBearerLoginCallbackHandler"


class UnsupportedKafkaSecurity(LakehouseError):
    """A way to log in that we cannot tell to both librdkafka and Java."""


def java_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """What Java has to be told so that it does what librdkafka does; without the addresses of the brokers.

    Args:
        properties: in librdkafka's names, with secrets in the clear. One that begins with `java.` is for Java alone,
            and wins over what is derived from the others.

    Raises:
        UnsupportedKafkaSecurity: The login has no translation.
    """
    java: dict[str, str] = {}
    for name, value in properties.items():
        if name.startswith(JAVA_PREFIX):
            continue
        java_name = JAVA_NAMES.get(name, None if LIBRDKAFKA_ONLY.fullmatch(name) else name)
        if java_name is not None:
            java[java_name] = value
    for extra in (_login, _keystore, _truststore, _hostname_check):
        java |= extra(properties)
    return java | {n.removeprefix(JAVA_PREFIX): value for n, value in properties.items() if n.startswith(JAVA_PREFIX)}


def _login(properties: Mapping[str, str]) -> dict[str, str]:
    """User and password, or client and secret, are one property in Java, in a small language of its own."""
    mechanism = properties.get("sasl.mechanisms", properties.get("sasl.mechanism"))
    if mechanism is None or f"{JAVA_PREFIX}sasl.jaas.config" in properties:
        return {}
    if mechanism not in LOGIN_MODULES:
        raise UnsupportedKafkaSecurity(
            f"Kafka property sasl.mechanisms is {mechanism}, which is not told to Spark by itself.",
            remedy=f"use one of {', '.join(LOGIN_MODULES)}, msk_iam, or give Java its own: java.sasl.jaas.config.",
        )
    if mechanism == "OAUTHBEARER":
        return {
            "sasl.jaas.config": jaas(LOGIN_MODULES[mechanism], _oidc(properties)),
            "sasl.login.callback.handler.class": _OIDC_HANDLER,
        }
    options = {name: properties.get(f"sasl.{name}", "") for name in ("username", "password")}
    return {"sasl.jaas.config": jaas(LOGIN_MODULES[mechanism], options)}


def _oidc(properties: Mapping[str, str]) -> dict[str, str]:
    """Client credentials (RFC 6749, section 4.4) for the token endpoint; the one grant that both clients know."""
    prefix = "sasl.oauthbearer."
    if properties.get(f"{prefix}method") != "oidc":
        raise UnsupportedKafkaSecurity(
            "Kafka property sasl.mechanisms is OAUTHBEARER, and nothing says where tokens come from.",
            remedy="set sasl.oauthbearer.method: oidc, with token.endpoint.url, client.id and client.secret.",
        )
    grant = properties.get(f"{prefix}grant.type", "client_credentials")
    if grant != "client_credentials" or f"{prefix}metadata.authentication.type" in properties:
        raise UnsupportedKafkaSecurity(
            "Kafka's Java client gets tokens by client credentials alone.",
            remedy="use sasl.oauthbearer.grant.type: client_credentials, or give Java its own: java.sasl.jaas.config.",
        )
    options = {
        "clientId": properties.get(f"{prefix}client.id", ""),
        "clientSecret": properties.get(f"{prefix}client.secret", ""),
    }
    if scope := properties.get(f"{prefix}scope"):
        options["scope"] = scope
    for extension in filter(None, properties.get(f"{prefix}extensions", "").split(",")):
        name, _, value = extension.partition("=")
        options[f"extension_{name.strip()}"] = value.strip()
    # The endpoint's certificate is checked apart from the brokers'.
    if authority := properties.get("https.ca.location"):
        options |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": authority}
    elif "https.ca.pem" in properties:
        raise UnsupportedKafkaSecurity(
            "Kafka property https.ca.pem is not told to Spark by itself.", remedy="name a file: https.ca.location."
        )
    return options


def jaas(module: str, options: Mapping[str, str]) -> str:
    """A login in the language of `sasl.jaas.config`."""
    return " ".join([module, "required", *(f"{name}={_quoted(value)}" for name, value in options.items())]) + ";"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _keystore(properties: Mapping[str, str]) -> dict[str, str]:
    """Certificate and key: librdkafka reads two PEM files, or one of PKCS #12; Java takes two PEM texts, or the same.

    Raises:
        UnsupportedKafkaSecurity: A file cannot be read, or the key is not in PKCS #8, which is all that Java knows.
    """
    files = {
        "ssl.keystore.certificate.chain": properties.get("ssl.certificate.location"),
        "ssl.keystore.key": properties.get("ssl.key.location"),
    }
    texts = {name: _pem(file) for name, file in files.items() if file is not None}
    key = texts.get("ssl.keystore.key", properties.get("ssl.key.pem", ""))
    if "BEGIN RSA PRIVATE KEY" in key or "BEGIN EC PRIVATE KEY" in key:
        raise UnsupportedKafkaSecurity(
            "The private key of the Kafka client is not in PKCS #8, and Java reads no other.",
            remedy="write it anew by `openssl pkcs8 -topk8 -nocrypt -in OLD -out NEW`, and name that file.",
        )
    if texts or "ssl.certificate.pem" in properties:
        return texts | {"ssl.keystore.type": "PEM"}
    return {"ssl.keystore.type": "PKCS12"} if "ssl.keystore.location" in properties else {}


def _pem(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = type(error).__name__
    raise UnsupportedKafkaSecurity(
        f"The file {file} of the Kafka client's certificate or key cannot be read as text ({reason}).",
        remedy="correct ssl.certificate.location or ssl.key.location, or make the file readable for this user.",
    )


def _truststore(properties: Mapping[str, str]) -> dict[str, str]:
    return {"ssl.truststore.type": "PEM"} if {"ssl.ca.location", "ssl.ca.pem"} & properties.keys() else {}


def _hostname_check(properties: Mapping[str, str]) -> dict[str, str]:
    """`none` switches the check of the host name off for librdkafka; for Java the empty string does."""
    algorithm = properties.get("ssl.endpoint.identification.algorithm")
    return {"ssl.endpoint.identification.algorithm": ""} if algorithm == "none" else {}
