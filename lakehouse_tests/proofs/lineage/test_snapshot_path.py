"""How a reading is told to a person: the way to it, the snapshot, and whose it is."""

from lakehouse.proofs.lineage.snapshot_path import SnapshotPath
from lakehouse.protocol.seals.seal import Seal

PATH = ("mart.a", "mart.b", "raw.c")


def test_the_way_names_the_parts_that_it_leads_through() -> None:
    assert SnapshotPath(PATH, 7, parts=("", "day=1")).path_text == "mart.a ← mart.b (day=1) ← raw.c"
    assert SnapshotPath(PATH, 7).table == "raw.c"


def test_the_writer_is_named_as_far_as_it_is_known() -> None:
    way = "mart.a ← mart.b ← raw.c at snapshot 7"
    seal = Seal("write", "r1", "s", "a", statement={}, previous="")
    dated = Seal("write", "r1", "s", "a", statement={}, previous="", runtime_date="2013-05-14")
    assert [str(SnapshotPath(PATH, 7, seal=by)) for by in (None, seal, dated)] == [
        way,
        f"{way} (run r1)",
        f"{way} (runtime date 2013-05-14, run r1)",
    ]
