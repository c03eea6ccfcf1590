import pytest
from pydantic import ValidationError

from lakehouse.settings import AutomationSettings
from lakehouse.settings.models import DagsterSettings


def test_what_deletes_does_not_start_by_itself() -> None:
    assert AutomationSettings().start
    assert not AutomationSettings().start_maintenance


@pytest.mark.parametrize("prefix", ["corp/lake", "a", ""])
def test_a_prefix_of_asset_keys(prefix: str) -> None:
    assert DagsterSettings(asset_key_prefix=prefix).asset_key_prefix == prefix


@pytest.mark.parametrize("prefix", ["/a", "a/", "a b"])
def test_a_prefix_that_dagster_has_no_key_for(prefix: str) -> None:
    with pytest.raises(ValidationError):
        DagsterSettings(asset_key_prefix=prefix)
