"""What Java has to be told so that Spark does what librdkafka does. A real broker: test_company_kafka.py."""

from pathlib import Path

import pytest

from lakehouse.engines.kafka import UnsupportedKafkaSecurity
from lakehouse.engines.kafka.security.java_properties import java_properties

OIDC = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanisms": "OAUTHBEARER",
    "sasl.oauthbearer.method": "oidc",
    "sasl.oauthbearer.client.id": "ada",
    "sasl.oauthbearer.client.secret": 'hu"sh',
    "sasl.oauthbearer.token.endpoint.url": "https://idp/token",
}


def test_oidc_is_a_login_module_with_its_handler() -> None:
    more = {"sasl.oauthbearer.scope": "kafka", "sasl.oauthbearer.extensions": "logicalCluster=lkc-1, pool=p"}
    assert java_properties(OIDC | more | {"https.ca.location": "/ca.pem"}) == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": "https://idp/token",
        "sasl.login.callback.handler.class": "org.apache.kafka.common.security.oauthbearer.secured."
        "OAuthBearerLoginCallbackHandler",
        "sasl.jaas.config": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
        'clientId="ada" clientSecret="hu\\"sh" scope="kafka" extension_logicalCluster="lkc-1" extension_pool="p" '
        'ssl.truststore.type="PEM" ssl.truststore.location="/ca.pem";',
    }


@pytest.mark.parametrize(
    ("properties", "says"),
    [
        ({"sasl.mechanisms": "OAUTHBEARER"}, "nothing says where tokens come from"),
        (OIDC | {"sasl.oauthbearer.grant.type": "urn:ietf:params:oauth:grant-type:jwt-bearer"}, "client credentials"),
        (OIDC | {"https.ca.pem": "x"}, r"https\.ca\.location"),
        ({"sasl.mechanisms": "GSSAPI"}, "GSSAPI"),
        ({"ssl.key.pem": "-----BEGIN RSA PRIVATE KEY-----"}, "openssl pkcs8 -topk8"),
        ({"ssl.key.location": "/no/such.key"}, r"/no/such\.key.*FileNotFoundError"),
    ],
)
def test_what_java_cannot_do_is_refused_with_the_remedy(properties: dict[str, str], says: str) -> None:
    with pytest.raises(UnsupportedKafkaSecurity, match=says) as caught:
        java_properties(properties)
    assert caught.value.remedy
    assert caught.value.__context__ is None


def test_a_store_of_pkcs12_is_the_same_for_both(tmp_path: Path) -> None:
    store = {"ssl.keystore.location": "/me.p12", "ssl.keystore.password": "hush"}
    assert java_properties(store) == store | {"ssl.keystore.type": "PKCS12"}
