"""A folder's name tells no text of a record, is short, and is the same for the same partition."""

from datetime import date

import pytest
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform, Transform
from pyiceberg.types import BinaryType, DateType, IcebergType, LongType, NestedField, StringType

from lakehouse.steps.ingest.parquet_files.folders import Folders


def folder(kind: IcebergType, transform: Transform, value: object, name: str = "part") -> str:
    schema = Schema(NestedField(1, "source", kind, required=False))
    spec = PartitionSpec(PartitionField(source_id=1, field_id=1000, transform=transform, name=name))
    return Folders(spec, schema).path([value])


DAY = (date(2013, 5, 14) - date(1970, 1, 1)).days


@pytest.mark.parametrize(
    ("kind", "transform", "value", "path"),
    [
        (LongType(), IdentityTransform(), 7, "part=7"),
        (StringType(), BucketTransform(16), 3, "part=3"),
        (DateType(), DayTransform(), DAY, "part=2013-05-14"),
        (DateType(), DayTransform(), 10**9, "part=1000000000"),  # no date of Python's
        (StringType(), IdentityTransform(), None, "part=null"),
    ],
)
def test_what_is_short_by_its_type_is_there_as_it_is(
    kind: IcebergType, transform: Transform, value: object, path: str
) -> None:
    assert folder(kind, transform, value) == path


@pytest.mark.parametrize(("kind", "value"), [(StringType(), "ada@example.org" * 99), (BinaryType(), b"ada" * 999)])
def test_a_text_is_there_as_a_digest(kind: IcebergType, value: object) -> None:
    path = folder(kind, IdentityTransform(), value)
    assert path == folder(kind, IdentityTransform(), value)
    assert "ada" not in path
    assert len(path) == len("part=") + 16


def test_a_long_or_strange_name_is_a_name_all_the_same() -> None:
    assert folder(LongType(), IdentityTransform(), 7, name="a/b c") == "a%2Fb+c=7"
    assert len(folder(LongType(), IdentityTransform(), 7, name="n" * 300)) == 16 + len("=7")
