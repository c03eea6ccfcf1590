from pathlib import Path

import pytest
from pydantic import ValidationError

from lakehouse.settings import Settings, load_settings

CONF = Path(__file__).parents[3] / "conf"


def test_a_time_zone_is_one() -> None:
    given = dict(load_settings(CONF, {}))
    assert Settings.model_validate(given | {"timezone": "Europe/Berlin"}).timezone == "Europe/Berlin"
    with pytest.raises(ValidationError, match="IANA"):
        Settings.model_validate(given | {"timezone": "Berlin time"})


def test_parameters_have_names_and_plain_values() -> None:
    given = dict(load_settings(CONF, {}))
    assert Settings.model_validate(given | {"parameters": {"rate": 0.5}}).parameters == {"rate": 0.5}
    with pytest.raises(ValidationError, match="rate"):
        Settings.model_validate(given | {"parameters": {"rate": [1]}})
