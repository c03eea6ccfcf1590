import json
from pathlib import Path

import pytest
from pydantic import SecretStr

from lakehouse.engines.kafka import UnsupportedKafkaSecurity, client_config, spark_options
from lakehouse.engines.kafka.clients import onlooker_config
from lakehouse.settings import KafkaSettings


def scram(**more: str | SecretStr) -> KafkaSettings:
    properties: dict[str, str | SecretStr] = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanisms": "SCRAM-SHA-512",
        "sasl.username": "ada",
        "sasl.password": SecretStr('hush"\\hush'),
        "ssl.ca.location": "/certs/ca.pem",
        "socket.keepalive.enable": "true",
        "client.id": "lakehouse",
    }
    return KafkaSettings(bootstrap_servers="a:1,b:2", properties=properties | more)


def test_librdkafka_gets_its_own_names_with_secrets_in_the_clear():
    assert client_config(scram())["sasl.password"] == 'hush"\\hush'
    assert client_config(scram())["bootstrap.servers"] == "a:1,b:2"


def test_spark_gets_the_names_of_java():
    assert dict(spark_options(scram())) == {
        "groupIdPrefix": "lakehouse-spark",
        "kafka.bootstrap.servers": "a:1,b:2",
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "SCRAM-SHA-512",
        "kafka.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="ada" password="hush\\"\\\\hush";',
        "kafka.ssl.truststore.location": "/certs/ca.pem",
        "kafka.ssl.truststore.type": "PEM",
        "kafka.client.id": "lakehouse",
    }


def test_a_local_broker_needs_nothing_but_its_address():
    assert spark_options(KafkaSettings(bootstrap_servers="127.0.0.1:9092")) == {
        "groupIdPrefix": "lakehouse-spark",
        "kafka.bootstrap.servers": "127.0.0.1:9092",
    }


def test_all_groups_begin_with_the_prefix_of_ones_own():
    kafka = KafkaSettings(bootstrap_servers="a:1", group_prefix="team-7.")
    assert onlooker_config(kafka, "peek")["group.id"] == "team-7.peek"
    assert spark_options(kafka)["groupIdPrefix"] == "team-7.spark"


def test_a_client_certificate_travels_as_text(tmp_path: Path):
    (tmp_path / "me.pem").write_text("CERTIFICATE")
    (tmp_path / "me.key").write_text("PRIVATE")
    options = spark_options(
        KafkaSettings(
            bootstrap_servers="a:1",
            properties={
                "security.protocol": "SSL",
                "ssl.certificate.location": str(tmp_path / "me.pem"),
                "ssl.key.location": str(tmp_path / "me.key"),
                "ssl.endpoint.identification.algorithm": "none",
            },
        )
    )
    assert options["kafka.ssl.keystore.type"] == "PEM"
    assert options["kafka.ssl.keystore.certificate.chain"] == "CERTIFICATE"
    assert options["kafka.ssl.keystore.key"] == "PRIVATE"
    assert options["kafka.ssl.endpoint.identification.algorithm"] == ""
    assert "PRIVATE" not in repr(options)


def _onlooker(kafka: KafkaSettings):
    return onlooker_config(kafka, "peek")


@pytest.mark.parametrize("make", [client_config, spark_options, _onlooker])
def test_printing_shows_no_secret(make):
    config = make(scram(**{"java.sasl.jaas.config": "x password=hush"}))
    for text in (repr(config), str(config), f"{config}"):
        assert "hush" not in text
        assert "a:1,b:2" in text
    assert "hush" in json.dumps(config)  # what a client reads is the real thing


def test_java_can_be_given_a_property_of_its_own():
    kafka = KafkaSettings(
        bootstrap_servers="a:1",
        properties={"sasl.mechanisms": "OAUTHBEARER", "java.sasl.jaas.config": "mine", "java.fetch.min.bytes": "9"},
    )
    assert spark_options(kafka)["kafka.sasl.jaas.config"] == "mine"
    assert spark_options(kafka)["kafka.fetch.min.bytes"] == "9"
    assert client_config(kafka) == {"bootstrap.servers": "a:1", "sasl.mechanisms": "OAUTHBEARER"}


def test_a_mechanism_without_translation_is_refused_with_the_remedy():
    kafka = KafkaSettings(bootstrap_servers="a:1", properties={"sasl.mechanisms": "GSSAPI"})
    with pytest.raises(UnsupportedKafkaSecurity, match=r"GSSAPI.*java\.sasl\.jaas\.config"):
        spark_options(kafka)
