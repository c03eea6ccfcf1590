"""What no table has is named, and a sender who makes names up fills no seal."""

from lakehouse.steps.ingest.workers.added_reports import LONGEST_FIELD, MOST_FIELDS, most_frequent


def test_the_most_frequent_fields_are_named_shortly() -> None:
    made_up = {f"{number:04}" + "x" * 1000: 1 for number in range(1000)}
    shown = most_frequent({"seldom": 2, "often": 3, **made_up})
    assert list(shown.items())[:2] == [("often", 3), ("seldom", 2)]
    assert len(shown) == MOST_FIELDS
    assert max(map(len, shown)) == LONGEST_FIELD + 1
