import pytest
from pydantic import ValidationError

from lakehouse.settings import KafkaSettings
from lakehouse.settings.models import MskIamSettings


def test_a_login_is_one() -> None:
    with pytest.raises(ValidationError, match="Either profile or role_arn"):
        MskIamSettings(profile="p", role_arn="arn:aws:iam::1:role/r")
    with pytest.raises(ValidationError, match="is set by itself"):
        KafkaSettings(bootstrap_servers="a:1", msk_iam=MskIamSettings(), properties={"sasl.mechanism": "PLAIN"})


def test_secrets_are_hidden_by_their_keys() -> None:
    assert "hush" not in repr(KafkaSettings(bootstrap_servers="a:1", properties={"sasl.password": "hush"}))
