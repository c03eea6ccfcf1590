"""Message types are found by name, by Confluent's places and by Glue's rank; a set that does not fit is refused."""

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from lakehouse.formats.protobuf import MessageTypes
from lakehouse.formats.schema_errors import SchemaUnusable
from lakehouse_tests.formats.protobuf.writing import compiled

# The example of AWS' own MessageIndexFinder, after another message.
SCHEMA = compiled("message Z {} message B { message C {} message A { message D {} } }")


def test_places_are_those_in_the_file_and_ranks_those_of_the_names() -> None:
    types = MessageTypes(SCHEMA)
    places = {(0,): "Z", (1,): "B", (1, 0): "B.C", (1, 1, 0): "B.A.D"}
    for indexes, name in places.items():
        kind = types.by_indexes(indexes)
        assert kind is not None
        assert kind.full_name == name
    ranked = [types.by_rank(rank) for rank in range(6)]
    assert [kind and kind.full_name for kind in ranked] == ["B", "B.A", "B.A.D", "B.C", "Z", None]
    assert types.by_indexes((2,)) is None
    assert types.by_indexes((0, 0)) is None


def test_a_type_is_named_where_there_are_several() -> None:
    types = MessageTypes(SCHEMA)
    assert types.named("B.A").full_name == "B.A"
    assert MessageTypes(compiled("message Only { message Inner {} }")).named("").full_name == "Only"
    with pytest.raises(SchemaUnusable, match=r"has 2 message types \(Z, B\)"):
        types.named("")
    with pytest.raises(SchemaUnusable, match="no message type Q"):
        types.named("Q")


def test_googles_own_files_need_not_be_in_the_set() -> None:
    text = 'import "google/protobuf/struct.proto"; message M { google.protobuf.Struct s = 1; }'
    whole = FileDescriptorSet.FromString(compiled(text))
    alone = FileDescriptorSet(file=[whole.file[-1]]).SerializeToString()
    assert MessageTypes(alone).named("M").full_name == "M"


def test_files_may_stand_in_any_order_but_none_may_be_missing() -> None:
    files = FileDescriptorSet(file=[])
    outer = files.file.add(name="outer.proto", dependency=["inner.proto"])
    outer.message_type.add(name="M")
    with pytest.raises(SchemaUnusable, match=r"lacks a file"):
        MessageTypes(files.SerializeToString())
    files.file.add(name="inner.proto")
    last = FileDescriptorSet(file=[files.file[1], files.file[0]])
    assert MessageTypes(last.SerializeToString()).named("").full_name == "M"


@pytest.mark.parametrize("content", [b"", b"\xff\xff"], ids=["empty", "bytes"])
def test_what_is_no_set_is_refused(content: bytes) -> None:
    with pytest.raises(SchemaUnusable, match="descriptor set"):
        MessageTypes(content).named("")
