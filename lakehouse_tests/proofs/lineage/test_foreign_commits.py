"""Whoever writes to a derived table outside the protocol is found, whatever date and columns the rows have.

Guarded mechanism: between a seal and the one before it are the commits of its own attempt, and no other.
"""

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from lakehouse import seal_keys
from lakehouse.proofs.lineage.audit import DerivedProof, audit_derived
from lakehouse.protocol.seals.covered import unsealed_commits
from lakehouse.protocol.seals.history import summary_of
from lakehouse_tests.proofs.lineage.computed import DAY, OTHER_DAY, A, B, Computed, derived, lake_of

LOG = "derived.log"
Tamper = Callable[[Computed, str], None]


@pytest.fixture
def lake(tmp_path: Path) -> Computed:
    """B is computed as a whole, `derived.log` grows run by run."""
    lake = lake_of(tmp_path, [A], derived(B, A), derived(LOG, A, mode="incremental"))
    lake.source()
    for name in (B, LOG):
        lake.compute(name)
    return lake


def rows(lake: Computed, name: str, *numbers: int) -> pa.Table:
    records = [{"n": n, "runtime_date": DAY} for n in numbers]
    return pa.Table.from_pylist(records, schema=lake.load(name).schema().as_arrow())


def append(lake: Computed, name: str) -> None:
    lake.load(name).append(rows(lake, name, 7))


def overwrite(lake: Computed, name: str) -> None:
    lake.load(name).overwrite(rows(lake, name, 7, 8))


def delete(lake: Computed, name: str) -> None:
    lake.load(name).delete("n = 0")


def delete_all(lake: Computed, name: str) -> None:
    lake.load(name).delete()


def append_with_a_mark(lake: Computed, name: str) -> None:
    """The mark of an attempt whose seal is elsewhere."""
    mark = summary_of(lake.load(name).current_snapshot())[seal_keys.ATTEMPT]
    lake.load(name).append(rows(lake, name, 7), snapshot_properties={seal_keys.ATTEMPT: mark})


def append_with_a_seal(lake: Computed, name: str) -> None:
    """All keys of the newest seal, and its digest."""
    keys = {k: v for k, v in summary_of(lake.load(name).current_snapshot()).items() if k.startswith("lakehouse.")}
    lake.load(name).append(rows(lake, name, 7), snapshot_properties=keys)


ON_WHOLE = [append, overwrite, delete, delete_all, append_with_a_mark, append_with_a_seal]
TAMPERINGS = [*((B, tamper) for tamper in ON_WHOLE), (LOG, append), (LOG, delete)]


def audit(lake: Computed, name: str) -> DerivedProof:
    return audit_derived(lake.load, lake.declarations.derived[name])


@pytest.mark.parametrize(("name", "tamper"), TAMPERINGS)
def test_a_write_to_a_computed_table_is_named(lake: Computed, name: str, tamper: Tamper) -> None:
    assert audit(lake, name).holds
    before = lake.head(name)
    tamper(lake, name)
    foreign = unsealed_commits(lake.load(name), lake.head(name))
    assert foreign
    assert before not in {commit.snapshot_id for commit in foreign}
    proof = audit(lake, name)
    messages = [finding.message for finding in proof.findings if finding.kind == "date_unsealed"]
    for commit in foreign:
        assert any(f"snapshot {commit.snapshot_id} (" in message for message in messages)


def test_what_is_buried_below_newer_seals_is_named(lake: Computed) -> None:
    append(lake, LOG)
    foreign = lake.head(LOG)
    lake.compute(LOG, day=OTHER_DAY)
    lake.maintain(LOG)
    assert [commit.snapshot_id for commit in unsealed_commits(lake.load(LOG), lake.head(LOG))] == [foreign]
    assert any(f"snapshot {foreign} (append, 1 row added" in finding.message for finding in audit(lake, LOG).findings)


def test_to_compute_all_anew_mends_it(lake: Computed) -> None:
    append(lake, B)
    assert not audit(lake, B).holds
    lake.compute(B)
    assert audit(lake, B).holds


def test_to_set_it_back_mends_it(lake: Computed) -> None:
    before = lake.head(LOG)
    append(lake, LOG)
    with lake.load(LOG).manage_snapshots() as change:
        change.rollback_to_snapshot(before)
    assert audit(lake, LOG).holds


def test_what_is_on_another_branch_is_nobodys_business(lake: Computed) -> None:
    with lake.load(B).manage_snapshots() as change:
        change.create_branch(lake.head(B), "trial")
    lake.load(B).append(rows(lake, B, 7), branch="trial")
    assert audit(lake, B).holds


def test_a_seal_of_maintenance_is_no_stranger_and_hides_none(lake: Computed) -> None:
    lake.maintain(B)
    assert audit(lake, B).holds
    append(lake, B)
    lake.maintain(B)
    assert not audit(lake, B).holds
