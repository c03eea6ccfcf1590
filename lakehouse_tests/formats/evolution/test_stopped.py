"""A table that has stopped takes no record, and says why."""

import pyarrow as pa

from lakehouse.formats.evolution.stopped import TABLE_STOPPED, StoppedTable


def test_every_record_waits_in_quarantine() -> None:
    decoded = StoppedTable("raw.things", "`count` is int, and records have string").decode(pa.array([b"{}", None]))
    assert {error.error_class for error in decoded.errors.values()} == {TABLE_STOPPED}
    assert decoded.errors[1].message == "raw.things takes no records: `count` is int, and records have string"
