"""A cadence that cannot work is refused by its field."""

from datetime import timedelta
from typing import Any

import pytest

from lakehouse.declarations import DeclarationError
from lakehouse.declarations.policies.cadence import Cadence


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"every": timedelta(milliseconds=10)}, "every"),
        ({"every": 5}, "every"),
        ({"patience": timedelta(seconds=-1)}, "patience"),
        ({"enough_records": 0}, "enough_records"),
        ({"max_records_per_run": True}, "max_records_per_run"),
    ],
)
def test_what_cannot_work_is_refused(given: dict[str, Any], field: str) -> None:
    with pytest.raises(DeclarationError, match=rf"Cadence\.{field} is "):
        Cadence(**given)


def test_what_is_not_given_the_settings_say() -> None:
    assert Cadence() == Cadence(every=None, patience=None, enough_records=None, max_records_per_run=None)
    assert Cadence(patience=timedelta(0), enough_records=1).patience == timedelta(0)
