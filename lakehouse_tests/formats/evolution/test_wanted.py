"""What tasks have seen of records comes together in any order, and travels as a report."""

import msgspec

from lakehouse.formats.evolution.wanted import Wanted


def seen(*records: dict[str, object]) -> Wanted:
    wanted = Wanted(schemas={str(len(records))})
    for record in records:
        wanted.accepted.add(record)
    return wanted


def test_the_order_does_not_matter() -> None:
    first, two, both = seen({"a": 1, "b": [1]}), seen({"a": None, "b": ["x"]}, {"a": 2**40}), Wanted()
    both.merge(first)
    both.merge(two)
    other = Wanted()
    other.merge(two)
    other.merge(first)
    assert both == other
    assert (both.accepted.times, both.accepted.fields["a"].nulls, both.accepted.fields["a"].large) == (3, 1, True)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(both), type=Wanted) == both
