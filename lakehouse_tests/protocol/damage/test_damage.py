"""What is said of a file that cannot be read, and whether its rows are lost."""

import pytest

from lakehouse.protocol.damage.damage import Damage, DamageKind, damaged_metadata, first_line
from lakehouse.protocol.errors import MetadataFileDamaged


@pytest.mark.parametrize(
    ("kind", "lost"),
    [("missing_file", True), ("changed_file", True), ("equality_delete", False), ("unread_format", False)],
)
def test_a_sound_file_that_needs_another_reader_is_no_loss(kind: DamageKind, lost: bool) -> None:
    assert Damage(kind, "raw.a", "s3://b/a.parquet", "why").lost is lost


@pytest.mark.parametrize(("reason", "kind"), [("", "missing_file"), ("it is torn", "unreadable_file")])
def test_a_metadata_file_that_is_gone_is_told_from_a_torn_one(reason: str, kind: DamageKind) -> None:
    damage = damaged_metadata(MetadataFileDamaged("raw.a", "file:///0.metadata.json", reason))
    assert (damage.kind, damage.table, damage.path) == (kind, "raw.a", "file:///0.metadata.json")
    assert "raw.a" in damage.message


def test_of_an_error_that_is_as_long_as_a_file_the_first_line_is_kept() -> None:
    assert first_line(OSError("Cannot read the end.\n" + 1000 * "x")) == "OSError: Cannot read the end"
    assert first_line(KeyError()) == "KeyError"
