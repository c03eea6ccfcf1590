"""What looks like a secret in plain text is refused, by the name of its key or by how it is written."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from lakehouse.settings import CatalogSettings, KafkaSettings, load_settings
from lakehouse.settings.plain_secret import has_plain_secret, looks_like_a_secret, names_a_secret
from lakehouse_tests.settings.test_loading import conf, refusal

__all__ = ["conf"]

SECRET_VALUES = [
    "https://me:hunter2@proxy:80",
    "jdbc:postgresql://host/lake?user=me&password=hunter2",
    'x.ScramLoginModule required username="me" password="hunter2";',
    'x.OAuthBearerLoginModule required clientId="me" clientSecret="hunter2";',
    "DefaultEndpointsProtocol=https;AccountName=lake;AccountKey=hunter2==;EndpointSuffix=core.windows.net",
    "https://lake.blob.core.windows.net/x?sv=2024&sig=hunter2",
    "Bearer hunter2",
    "-----BEGIN PRIVATE KEY-----\nhunter2",
    "-Djavax.net.ssl.trustStorePassword=hunter2",
    "sc://spark:443/;use_ssl=true;token=hunter2",
]
HARMLESS_VALUES = [
    "https://login.example/oauth2/token",
    "PRINCIPAL_ROLE:ALL",
    "sc://spark:443/;use_ssl=true",
    "postgresql+psycopg://lake:@host/lake",
    "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
    "(?i)secret|password",
    "a:1,b:2",
    "/certs/key.pem",
]


@pytest.mark.parametrize("value", SECRET_VALUES)
def test_it_is_refused_wherever_it_stands_in_a_file(conf: Path, value: str) -> None:
    quoted = '"' + value.replace('"', '\\"').replace("\n", "\\n") + '"'
    texts = {
        "kafka/local.yaml": [
            f"bootstrap_servers: a:1\nproperties: {{client.rack: {quoted}}}\n",
            f"bootstrap_servers: {quoted}\n",
        ],
        "catalogs/local.yaml": [
            f"type: rest\nuri: {quoted}\nwarehouse: w\n",
            f"type: rest\nuri: http://a\nwarehouse: w\nproperties: {{x: {quoted}}}\n",
        ],
        "platforms/local.yaml": [
            f"mode: classic\nmaster: x\nconf: {{spark.driver.extraJavaOptions: {quoted}}}\n",
            f"mode: connect\nremote: {quoted}\n",
        ],
    }
    for file, contents in texts.items():
        before = (conf / file).read_text()
        for content in contents:
            (conf / file).write_text(content)
            answer = refusal(conf)
            assert "secret" in answer or "password" in answer
            assert "hunter2" not in answer
        (conf / file).write_text(before)


@pytest.mark.parametrize("value", HARMLESS_VALUES)
def test_lookalikes_are_left_alone(value: str) -> None:
    assert not looks_like_a_secret(value)


@pytest.mark.parametrize(
    "key",
    [
        *("ssl.keystore.password", "ssl.keystore.key", "ssl.key.pem", "ssl.key.password", "java.ssl.keystore.key"),
        *("header.Authorization", "header.X-Api-Key", "header.Cookie", "basic.auth.user.info"),
        *("fs.azure.account.key.lake.dfs.core.windows.net", "adls.account-key", "adls.connection-string"),
        *("sasl.oauthbearer.client.secret", "sasl.oauthbearer.assertion.private.key.passphrase"),
        *("clientSecret", "clientsecret", "client.secretKey", "accessToken", "OAuth2ClientSecret", "userPassword"),
        *("ssl.client.key", "tls.key", "gcs.decryption-key"),
    ],
)
def test_names_of_secrets(key: str) -> None:
    assert names_a_secret(key)


@pytest.mark.parametrize(
    "key", ["ssl.keystore.location", "ssl.key.location", "s3.accessKeyId", "token-refresh-enabled", "oauthTokenFile"]
)
def test_names_of_what_is_none(key: str) -> None:
    assert not names_a_secret(key)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("credential", "root:hunter2${env:X}"),
        ("credential", "${env:ID}:hunter2"),
        ("credential", "hunter2${env:X}"),
        ("password", "hunter2${env:X}"),
        ("header.Authorization", "hunter2 ${env:X}"),
        ("sasl.jaas.config", 'x required username="${env:ID}" password="hunter2";'),
        ("ssl.client.key", "hunter2"),
        ("uri", "postgresql+psycopg://lake:hunter2/@host/db"),
        ("uri", "postgresql+psycopg://${env:ID}:hunter/2@host/db"),
        ("uri", "postgresql+psycopg://lake@server:hunter2@host/db"),
    ],
)
def test_a_part_of_one_beside_references_is_one(key: str, value: str) -> None:
    assert has_plain_secret(key, value)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("credential", "id:${env:X}"),
        ("credential", "${env:ID}:${file:/secret}"),
        ("password", "${env:A}-${env:B}"),
        ("header.Authorization", "Bearer ${env:X}"),
        ("header.Cookie", "session=${env:X}"),
        ("adls.connection-string", "AccountName=lake;AccountKey=${env:X};EndpointSuffix=core.windows.net"),
        ("sasl.jaas.config", 'x required username="me" password="${env:X}";'),
        ("ssl.client.key", "/etc/tls/client.pem"),
        ("uri", "postgresql+psycopg://lake:${env:X}@host:5432/db"),
        ("uri", "postgresql+psycopg://lake@host:5432/db"),
        ("uri", "sqlite:////tmp/a:b@c.db"),
        ("uri", "https://host:8181/a@b"),
    ],
)
def test_what_is_none_may_stand_beside_references(key: str, value: str) -> None:
    assert not has_plain_secret(key, value)


def test_settings_that_code_puts_together_hide_it_too() -> None:
    address = "postgresql://me:hunter2/@host/lake"
    catalog = CatalogSettings(
        type="sql", uri=address, warehouse="w", properties={"token": "hunter2", "x": "Bearer hunter2"}
    )
    kafka = KafkaSettings(bootstrap_servers="a:1", properties={"sasl.password": "hunter2"})
    assert "hunter2" not in f"{catalog!r} {catalog} {kafka!r} {catalog.model_dump()}"
    assert (catalog.address, kafka.properties["sasl.password"]) == (address, SecretStr("hunter2"))


def test_the_environment_may_hold_one(conf: Path) -> None:
    uri = "postgresql://me:hunter2@host/lake"
    settings = load_settings(conf, {"LAKEHOUSE__CATALOG__TYPE": "sql", "LAKEHOUSE__CATALOG__URI": uri})
    assert settings.catalog.address == uri
    assert "hunter2" not in repr(settings)
