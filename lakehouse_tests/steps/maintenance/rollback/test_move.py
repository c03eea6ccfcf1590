"""All tables of a stream go back to a seal that they share, or forward again, and no record is lost or lands twice.

Guarded mechanism: one transaction over all tables; and a refusal wherever somebody could not go on from there.
"""

import pytest

from lakehouse.steps.maintenance.rollback.move import MainMovedMeanwhile, PointNotNamed, PointUnknown, carry_out
from lakehouse.steps.maintenance.rollback.points import RollbackRefused
from lakehouse_tests.proofs.audit.simulated import QUARANTINE, A, B
from lakehouse_tests.steps.maintenance.rollback.conftest import Standing, is_seal


def test_all_tables_go_back_and_forward_together(stream: Standing) -> None:
    newest = stream.heads()
    back = stream.move("rollback", "run-1")
    assert set(back.changed) == {A, B, QUARANTINE}
    proof = stream.audit(scan=True)
    assert (proof.holds, proof.read) == (True, 7)
    stream.move("forward")
    assert stream.heads() == newest
    assert stream.audit(scan=True).read == 21


def test_what_was_taken_back_is_read_again_once(stream: Standing) -> None:
    stream.move("rollback", "run-1")
    assert stream.asked == 1
    stream.ingest({0: 1})
    proof = stream.audit(scan=True)
    assert (proof.holds, proof.read) == (True, 22)
    assert stream.find("forward").changed == {}


def test_one_that_was_set_back_alone_meets_its_siblings_either_way(stream: Standing) -> None:
    newest, first = stream.heads(), next(filter(is_seal, stream.load(A).metadata.snapshots)).snapshot_id
    stream.set_back_alone(A, first)
    assert not stream.audit().holds
    stream.move("forward", names=("events",))
    assert stream.heads() == newest
    assert stream.audit().holds
    stream.set_back_alone(A, first)
    assert stream.move("rollback").point.run_id == "run-1"
    assert stream.audit().holds


def test_rows_that_nobody_sealed_are_taken_back_without_asking_kafka(stream: Standing) -> None:
    newest = stream.heads()
    stream.append(A, [(0, 0)])
    assert not stream.audit().holds
    stream.move("rollback")
    assert (stream.heads(), stream.asked) == (newest, 0)


def test_tables_that_stand_together_go_back_only_to_a_run_that_is_named(stream: Standing) -> None:
    with pytest.raises(PointNotNamed, match="stand together at run run-3") as refused:
        stream.find("rollback")
    assert "run-2 (ingest), run-1 (ingest)" in refused.value.remedy
    with pytest.raises(PointUnknown, match=r"No run run-9"):
        stream.find("rollback", "run-9")


def test_before_the_first_run_there_is_nothing_to_name(stream: Standing) -> None:
    stream.move("rollback", "run-1")
    with pytest.raises(PointNotNamed, match="nothing before it is there to go back to") as refused:
        stream.find("rollback")
    assert "--to" not in refused.value.remedy
    assert "from a backup" in refused.value.remedy


def test_a_publish_meanwhile_wins_and_nothing_is_moved(stream: Standing) -> None:
    move = stream.find("rollback", "run-1")
    stream.ingest({0: 1})
    newest = stream.heads()
    with pytest.raises(MainMovedMeanwhile, match="nothing was changed"):
        carry_out(stream.catalog, stream.declarations, move)
    assert stream.heads() == newest


def test_tables_of_two_steps_have_no_seal_in_common(stream: Standing) -> None:
    stream.declarations.tables["raw.c"] = stream.declarations.tables[A]
    with pytest.raises(RollbackRefused, match="not written by one step"):
        stream.find("rollback", "run-1", (A, "raw.c"))
    with pytest.raises(RollbackRefused, match="There is no table and no stream nobody"):
        stream.find("rollback", "run-1", ("nobody",))
