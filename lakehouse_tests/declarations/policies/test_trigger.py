"""A trigger that cannot work is refused by its field."""

from datetime import timedelta
from typing import Any

import pytest

from lakehouse.declarations import DeclarationError
from lakehouse.declarations.policies.trigger import Trigger


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
    with pytest.raises(DeclarationError, match=rf"Trigger\.{field} is "):
        Trigger(**given)


def test_what_is_not_given_the_settings_say() -> None:
    assert Trigger() == Trigger(every=None, patience=None, enough_records=None, max_records_per_run=None)
    assert Trigger(patience=timedelta(0), enough_records=1).patience == timedelta(0)
