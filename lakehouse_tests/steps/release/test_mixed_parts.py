"""A member whose parts were computed from different versions of an input keeps a release back."""

from pathlib import Path

import pytest

from lakehouse.proofs.lineage.origins import Origin
from lakehouse.proofs.lineage.vintage import check_vintage
from lakehouse.steps.release.gate.judgement import mixed
from lakehouse_tests.proofs.lineage.computed import A, B, C, Computed, derived, lake_of

pytestmark = pytest.mark.slow

OTHER = "raw.other"


def reasons(lake: Computed, *members: str) -> list[str]:
    return [str(reason) for reason in mixed(check_vintage(lake.load, {name: lake.head(name) for name in members}))]


def test_partitions_of_two_versions_are_named_with_the_table_to_compute_whole(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, [A], derived(B, A))
    old, new = lake.source(), lake.source()
    lake.compute(B, computed_from=[Origin({A: old}, ("2013-05-01",)), Origin({A: new}, ("2013-06-01",))])
    [reason] = reasons(lake, A, B)
    assert f"{B} (partition 2013-05-01) ← {A} at snapshot {old}" in reason
    assert f"make anew what reads it: `lakehouse derive {B} --downstream`" in reason
    lake.compute(B, computed_from=())
    assert reasons(lake, A, B) == []


def test_an_incremental_member_that_read_an_older_version_in_full_is_computed_from_all_rows(tmp_path: Path) -> None:
    lake = lake_of(tmp_path, [A, OTHER], derived(B, A, OTHER, mode="incremental"), derived(C, A, OTHER))
    lake.source()
    lake.source(OTHER)
    lake.compute(B, follows=A)
    lake.source(OTHER)
    lake.compute(C)
    [reason] = reasons(lake, B, C)
    assert f"make anew what reads it: `lakehouse derive {B} --downstream --rebuild`" in reason
