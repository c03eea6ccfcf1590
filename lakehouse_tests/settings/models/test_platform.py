import pytest
from pydantic import ValidationError

from lakehouse.settings import Platform


def test_each_mode_needs_its_address() -> None:
    with pytest.raises(ValidationError, match="needs the key master"):
        Platform(name="p", mode="classic")
    with pytest.raises(ValidationError, match="needs the key remote"):
        Platform(name="p", mode="connect")


def test_a_token_in_the_address_is_hidden() -> None:
    platform = Platform(name="p", mode="connect", remote="sc://host:1/;token=hush")
    assert "hush" not in repr(platform)
    assert platform.remote_address == "sc://host:1/;token=hush"
