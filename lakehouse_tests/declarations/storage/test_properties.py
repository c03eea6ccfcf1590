"""Table properties that follow from a declaration."""

import pandera.pyspark as pa
import pyspark.sql.types as T  # noqa: N812
import pytest

from lakehouse.declarations import DeclarationError, table_properties
from lakehouse_tests.declarations.declaring import declare


def test_the_owner_is_there_for_other_engines_too() -> None:
    properties = table_properties(declare({"id": T.LongType()}))
    assert properties["owner"] == properties["lakehouse.owner"] == "tests"


def test_format_version_2_can_be_declared_and_others_are_refused_with_the_reason() -> None:
    declared = declare({"id": T.LongType()}, properties={"format-version": "2"})
    assert "format-version" not in table_properties(declared)
    for version, reason in (("3", "PyIceberg, and up to 0.12 it writes neither"), ("1", "row deletes"), ("4", "known")):
        with pytest.raises(DeclarationError, match=rf"format version '{version}' cannot be declared: .*{reason}"):
            declare({"id": T.LongType()}, properties={"format-version": version})


def test_bounds_are_kept_for_coordinates_and_never_for_sensitive_values() -> None:
    person = T.StructType(
        [T.StructField("name", T.StringType()), T.StructField("aliases", T.ArrayType(T.StringType()))]
    )
    columns = {"id": T.LongType(), "person": pa.Column(person, nullable=True, metadata={"sensitive": True})}
    properties = table_properties(declare(columns, coordinates=True, properties={"read.split.target-size": "1"}))
    metrics = {k.rpartition("column.")[2]: v for k, v in properties.items() if ".metrics.column." in k}
    assert metrics == {
        "_kafka_topic": "full",
        "_kafka_partition": "full",
        "_kafka_offset": "full",
        "_kafka_timestamp": "full",
        "person.name": "counts",
        "person.aliases.element": "counts",
    }
    assert properties["read.split.target-size"] == "1"
    assert properties["write.metadata.delete-after-commit.enabled"] == "true"
