"""A client that cannot be is named with what is missing."""

import pytest

from lakehouse.engines.submit.aws.client import AwsRefused, asked, aws_client


def test_without_a_region_the_key_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nowhere")
    with pytest.raises(AwsRefused, match="no client of glue") as caught:
        aws_client("glue", None)
    assert "`region`" in caught.value.remedy
    assert aws_client("glue", "eu-central-1").meta.region_name == "eu-central-1"


def test_without_credentials_the_reason_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_WEB_IDENTITY_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, "/nowhere")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(AwsRefused, match="AWS cannot be asked: Unable to locate credentials"):
        asked(aws_client("glue", "eu-central-1").get_job_runs, JobName="x")
