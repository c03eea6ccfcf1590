import pytest
from pydantic import ValidationError

from lakehouse.settings import IngestSettings, MaintenanceSettings


def test_sizes_take_units() -> None:
    assert IngestSettings.model_validate({"max_bytes_per_run": "2 GiB"}).max_bytes_per_run == 2 * 1024**3


def test_a_limit_is_more_than_nothing() -> None:
    with pytest.raises(ValidationError, match="greater than 0"):
        IngestSettings(max_records_per_run=0)


def test_a_key_that_has_gone_warns_and_changes_nothing() -> None:
    with pytest.warns(FutureWarning, match="seconds_per_tick has no effect"):
        assert MaintenanceSettings.model_validate({"seconds_per_tick": 5}) == MaintenanceSettings()
