"""Whether two snapshots hold the same rows, and a table what its own step made.

Guarded mechanisms: a summary that counts nothing is no word on what was added; a seal names its step.
"""

from pathlib import Path

import pyarrow as pa

from lakehouse.proofs.lineage.audit import audit_derived
from lakehouse.proofs.lineage.content import ContentChange, changes_rows, compare
from lakehouse_tests.proofs.audit.document import Document, ancestry
from lakehouse_tests.proofs.lineage.computed import A, B, C, Computed, diamond


def _only_the_operation(document: Document) -> None:
    summary = ancestry(document)[0]["summary"]
    for key in list(summary):
        if key != "operation":
            del summary[key]


def _append_without_counts(lake: Computed, numbers: list[int]) -> int:
    lake.load(A).append(pa.table({"n": pa.array(numbers, pa.int64())}))
    lake.edit(A, _only_the_operation)
    return lake.head(A)


def test_an_append_that_counts_nothing_is_another_content(tmp_path: Path) -> None:
    lake = diamond(tmp_path)
    first = _append_without_counts(lake, [1, 2])
    second = _append_without_counts(lake, [3])
    assert compare(lake.load(A), first, second) is ContentChange.DIFFERENT


def test_a_seal_without_rows_is_the_same_content(tmp_path: Path) -> None:
    lake = diamond(tmp_path)
    first = lake.source()
    second = lake.maintain(A)
    assert compare(lake.load(A), first, second) is ContentChange.SAME
    assert not any(changes_rows(s) for s in lake.load(A).metadata.snapshots if s.snapshot_id == second)


def test_what_another_step_made_is_named(tmp_path: Path) -> None:
    lake = diamond(tmp_path)
    lake.source()
    lake.compute(B)
    lake.compute(C)
    for name, other in ((B, "derived.aside"), (C, B), ("derived.aside", C)):
        lake.catalog.rename_table(name, other)
    for name in (B, C):
        kinds = {finding.kind for finding in audit_derived(lake.load, lake.declarations.derived[name]).findings}
        assert kinds == {"lineage_other_table"}
