"""For tests of your own declarations: what becomes of these records, and of these frames. No broker, no catalog."""

from lakehouse.declarations import load_declarations
from lakehouse.engines.kafka import Record
from lakehouse.testing.derived_rows import DerivedRows, derive_rows
from lakehouse.testing.judged_records import JudgedRecords, judge_records

__all__ = ["DerivedRows", "JudgedRecords", "Record", "derive_rows", "judge_records", "load_declarations"]
