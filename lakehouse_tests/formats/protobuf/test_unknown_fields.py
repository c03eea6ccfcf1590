"""Fields that a schema does not know are named by their path and number, each record once."""

from lakehouse.formats.protobuf.unknown_fields import unknown_fields
from lakehouse_tests.formats.protobuf.writing import compiled, encoded, message_type

INNER = "message I {{ {} }} repeated I list = 1; map<int32, I> by = 2; map<int32, int32> plain = 3;"
KNOWN = compiled(f"message M {{ {INNER.format('int32 x = 1;')} }}")
SENT = compiled(f"message M {{ {INNER.format('int32 x = 1; int32 y = 9;')} string more = 11; }}")


def test_paths_go_through_lists_and_maps() -> None:
    value = {"list": [{"y": 1}, {"y": 2}], "by": {1: {"y": 3}}, "plain": {1: 2}, "more": "x"}
    kind = message_type(KNOWN)
    messages = [kind.FromString(encoded(SENT, value)), kind.FromString(encoded(SENT, {"more": "y"})), kind()]
    assert unknown_fields(messages) == {"#11": 2, "list.#9": 1, "by.#9": 1}
