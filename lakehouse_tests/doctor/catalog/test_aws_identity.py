from pathlib import Path

import pytest

from lakehouse.doctor.catalog.aws_identity import is_nobody


@pytest.mark.usefixtures("nobody_to_aws")
def test_who_has_no_keys_is_nobody_in_s3_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert is_nobody("s3://lake/w", {})
    given = {"s3.access-key-id": "AKIA", "s3.secret-access-key": "hush"}
    assert not is_nobody("s3://lake/w", given)
    assert not is_nobody("gs://lake/w", {})
    assert not is_nobody(tmp_path.as_uri(), {})
    monkeypatch.setenv("AWS_PROFILE", "nosuch")
    assert is_nobody("s3://lake/w", {}), "a profile that is not there"
    monkeypatch.delenv("AWS_PROFILE")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIA")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush")
    assert not is_nobody("s3://lake/w", {})
