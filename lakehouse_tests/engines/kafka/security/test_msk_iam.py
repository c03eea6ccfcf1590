"""Login to MSK by IAM: what librdkafka and Java are given. No cluster of AWS' has been seen by these tests."""

import base64
import time
from urllib.parse import parse_qs, urlsplit

import pytest
from botocore.auth import SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from lakehouse.engines.kafka import MskLoginFailed, client_config, spark_options
from lakehouse.engines.kafka.security import msk_iam
from lakehouse.settings import KafkaSettings
from lakehouse.settings.models import MskIamSettings

BROKERS = "b-1.lake.x1.c2.kafka.eu-central-1.amazonaws.com:9098,b-2.lake.x1.c2.kafka.eu-central-1.amazonaws.com:9098"
KEY, SECRET, SESSION = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG", "a-session"


@pytest.fixture(autouse=True)
def aws(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    """Credentials of an example, and none from this machine."""
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", f"{tmp_path}/config")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", f"{tmp_path}/credentials")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_SESSION_TOKEN", SESSION)


def kafka(**iam: str) -> KafkaSettings:
    return KafkaSettings(bootstrap_servers=BROKERS, msk_iam=MskIamSettings(**iam))


def test_the_token_is_signed_as_aws_verifies_it() -> None:
    """The signature is computed anew from the request that the token describes, as the broker's side does."""
    config = client_config(kafka())
    assert (config["security.protocol"], config["sasl.mechanisms"]) == ("SASL_SSL", "OAUTHBEARER")
    give = config["oauth_cb"]
    assert callable(give)
    token, ends = give("")
    assert 600 < ends - time.time() <= 900
    url = urlsplit(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode())
    query = {name: values[0] for name, values in parse_qs(url.query).items()}
    assert (url.scheme, url.hostname, url.path) == ("https", "kafka.eu-central-1.amazonaws.com", "/")
    assert query["Action"] == "kafka-cluster:Connect"
    assert query["X-Amz-Expires"] == "900"
    assert "/eu-central-1/kafka-cluster/aws4_request" in query["X-Amz-Credential"]
    signer = SigV4QueryAuth(Credentials(KEY, SECRET, SESSION), "kafka-cluster", "eu-central-1", expires=900)
    unsigned = {name: value for name, value in query.items() if name not in {"X-Amz-Signature", "User-Agent"}}
    request = AWSRequest(method="GET", url=f"https://{url.hostname}/", params=unsigned, headers={"host": url.hostname})
    request.context["timestamp"] = query["X-Amz-Date"]
    canonical = signer.canonical_request(request)
    assert signer.signature(signer.string_to_sign(request, canonical), request) == query["X-Amz-Signature"]
    assert SECRET not in f"{config!r} {token}"


def test_each_further_token_is_made_when_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = iter([("first", time.time() + 900), ("second", time.time() + 900)])
    monkeypatch.setattr(msk_iam, "make_token", lambda *_: next(tokens))
    give = msk_iam.token_callback(MskIamSettings(region="x"), BROKERS)
    assert [give("")[0], give("")[0]] == ["first", "second"]


def test_java_has_the_module_of_aws() -> None:
    assert dict(spark_options(kafka(role_arn="arn:aws:iam::1:role/lake"))) == {
        "groupIdPrefix": "lakehouse-spark",
        "kafka.bootstrap.servers": BROKERS,
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "AWS_MSK_IAM",
        "kafka.sasl.jaas.config": "software.amazon.msk.auth.iam.IAMLoginModule required "
        'awsRoleArn="arn:aws:iam::1:role/lake";',
        "kafka.sasl.client.callback.handler.class": "software.amazon.msk.auth.iam.IAMClientCallbackHandler",
    }


def test_missing_credentials_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    for iam in ({}, {"profile": "no-such"}):
        with pytest.raises(MskLoginFailed, match=r"AWS' credentials for Kafka are not to be had") as caught:
            client_config(kafka(**iam))
        assert caught.value.__context__ is None
        assert SECRET not in str(caught.value)


def test_the_region_is_that_of_the_brokers_or_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    none = MskIamSettings()
    serverless = "boot-x.c1.kafka-serverless.us-east-1.amazonaws.com:9098"
    assert msk_iam.region_of(none, BROKERS) == "eu-central-1"
    assert msk_iam.region_of(none, serverless) == "us-east-1"
    assert msk_iam.region_of(MskIamSettings(region="eu-west-1"), BROKERS) == "eu-west-1"
    with pytest.raises(MskLoginFailed, match=r"set msk_iam\.region"):
        msk_iam.region_of(none, "kafka.example:9098")
    monkeypatch.setenv("AWS_REGION", "ap-south-1")
    assert msk_iam.region_of(none, "kafka.example:9098") == "ap-south-1"


def test_a_second_login_beside_it_is_refused() -> None:
    with pytest.raises(ValueError, match=r"With msk_iam the property sasl\.username is set by itself"):
        KafkaSettings(bootstrap_servers="a:1", msk_iam=MskIamSettings(), properties={"sasl.username": "ada"})
