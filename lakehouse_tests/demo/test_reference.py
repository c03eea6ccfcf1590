import json
from collections import Counter

import pytest

from lakehouse.demo import UNKNOWN_REFERENCE
from lakehouse.demo.reference import MESSAGES, reference_values

pytestmark = pytest.mark.slow

KINDS = {"weather": 26_115, "planes": 3_322, "airports": 1_458, "airlines": 16}


def test_every_record_of_each_kind_is_there_and_the_unknown_ones_besides():
    kinds = Counter(json.loads(value).get("record_type") for value in reference_values())
    assert kinds == {**KINDS, "helicopters": 1, None: 2}
    assert sum(KINDS.values()) + len(UNKNOWN_REFERENCE) == MESSAGES


def test_kinds_are_mixed_from_the_first_record_to_the_last():
    values = [json.loads(value).get("record_type") for value in reference_values()]
    tenth = len(values) // 10
    for start in range(0, 10 * tenth, tenth):
        mixed = Counter(values[start : start + tenth])
        assert all(abs(mixed[kind] - total / 10) <= 2 for kind, total in KINDS.items())


def test_records_read_as_in_the_source():
    by_kind = {}
    for value in map(json.loads, reference_values()):
        by_kind.setdefault(value.get("record_type"), value)
    assert by_kind["weather"] == {
        "record_type": "weather", "origin": "EWR", "year": 2013, "month": 1, "day": 1, "hour": 1, "temp": 39.02,
        "dewp": 26.06, "humid": 59.37, "wind_dir": 270, "wind_speed": 10.357019999999999, "wind_gust": None,
        "precip": 0.0, "pressure": 1012.0, "visib": 10.0, "time_hour": "2013-01-01T06:00:00Z",
    }  # fmt: skip
    assert by_kind["planes"]["speed"] is None
    assert by_kind["planes"]["type"] == "Fixed wing multi engine"
    assert by_kind["airports"]["tz"] == -5
    assert by_kind["airlines"] == {"record_type": "airlines", "carrier": "9E", "name": "Endeavor Air Inc."}
