"""A change that the stream refused leaves its key in doubt, until a good change of that key is in the mirror."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lakehouse.declarations import Mirror
from lakehouse.protocol.catalog import open_catalog
from lakehouse.steps.cdc.verify.audit import audit_mirror
from lakehouse.steps.cdc.verify.doubt import Doubt, find_doubt
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.steps.cdc.mirrored import BIRDS, LOG, MirroredLake, Saved, change, insert, refusal


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Saved:
    folder = tmp_path_factory.mktemp("lake")
    made = MirroredLake(open_catalog(sql_settings(folder)))
    made.ingest(*(insert(n, n) for n in range(1, 6)))
    made.apply()
    return Saved(made, folder)


@pytest.fixture
def lake(filled: Saved) -> MirroredLake:
    return filled.again()


def doubt(lake: MirroredLake) -> Doubt:
    """As the check asks."""
    summary = find_doubt(lake.catalog, lake.tables, lake.declarations)
    assert summary is not None
    return summary


BROKEN = b'{"op": "u", "after": {"id": 2, "weight": "heavy"}, "source": {"connector": "postgresql"}}'


def test_a_refused_change_of_a_stale_row_is_named_by_the_audit(lake: MirroredLake) -> None:
    lake.ingest(refusal(b'{"id": 2}', BROKEN), insert(11, 11))
    lake.apply()
    proof = audit_mirror(lake.catalog, lake.tables, lake.declarations)
    assert proof.holds
    assert (proof.doubt.keys, proof.as_json()["doubtful"]) == (1, ["id=2: wrong_type at partition 0 offset 5"])


def test_more_than_the_mirror_allows_is_a_broken_promise(lake: MirroredLake) -> None:
    lake.ingest(*(refusal(b'{"id": %d}' % n, BROKEN) for n in (1, 2, 2)), insert(11, 11))
    lake.apply()
    strict = replace(lake.mirror, max_doubtful_keys=1)
    tables = replace(lake.tables, mirror=strict)
    (finding,) = audit_mirror(lake.catalog, tables, lake.declarations).findings
    assert finding.kind == "doubtful_keys"
    assert "2 keys in doubt, more than the 1 that it allows" in finding.message


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b'{"id": 2}', b"no JSON"),
        (b'{"schema": {}, "payload": {"id": 2}}', BROKEN),
        (None, BROKEN),
        (b"no JSON", b'{"schema": {}, "payload": ' + BROKEN + b"}"),
        (b'{"id": 2}', None),
        (None, b'{"op": "d", "after": null, "before": {"id": 2, "name": 7}}'),
    ],
    ids=["message key", "beside its schema", "payload", "payload beside its schema", "tombstone", "image before"],
)
def test_the_key_is_read_from_the_message_key_or_from_the_payload(
    lake: MirroredLake, key: bytes | None, value: bytes | None
) -> None:
    lake.ingest(refusal(key, value), insert(11, 11))
    lake.apply()
    summary = doubt(lake)
    assert (summary.keys, summary.unknown, summary.examples) == (1, 0, ("id=2: wrong_type at partition 0 offset 5",))
    lake.ingest(change("update", 12, 2, name="new"))
    assert doubt(lake).keys == 1, "in the changelog, and not in the mirror yet"
    lake.apply()
    assert (doubt(lake).count, doubt(lake).healed) == (0, 1)


@pytest.mark.parametrize(
    ("key", "value"), [(b"no JSON", b"no JSON"), (b'{"id": "x"}', b"{}"), (b'{"other": 2}', None), (None, b"[]")]
)
def test_where_no_key_can_be_read_it_counts_as_unknown_and_nothing_heals_it(
    lake: MirroredLake, key: bytes | None, value: bytes | None
) -> None:
    lake.ingest(refusal(key, value), *(change("update", 10 + n, n, name="new") for n in range(1, 6)))
    lake.apply()
    summary = doubt(lake)
    assert (summary.keys, summary.unknown) == (0, 1)
    assert summary.examples == ("of unknown key: wrong_type at partition 0 offset 5",)


def test_a_record_that_says_nothing_of_any_row_leaves_no_doubt(lake: MirroredLake) -> None:
    lake.ingest(refusal(None, None, error="tombstone"), insert(11, 11))
    lake.apply()
    assert doubt(lake).refused == 0


@pytest.mark.parametrize(
    ("later", "healed"),
    [
        (change("update", 12, 2, name="new"), True),
        (change("delete", 12, 2), True),
        (change("tombstone", None, 2), True),
        (change("truncate", 12), True),
        (change("update", 12, 2, name="new", partition=1), False),
        (change("update", 11, 2, name="before"), False),
        (change("delete", 10, 2), False),
        (change("update", 12, 3, name="another key"), False),
        (change("update", 12, 2, name="new", without=("song",)), False),
        (change("read", 0, 2, name="a snapshot"), False),
        (insert(12, 12), False),
    ],
    ids=[
        "update",
        "delete",
        "tombstone",
        "truncate",
        "other partition",
        "sent again",
        "older",
        "other key",
        "not every column",
        "read",
        "not later",
    ],
)
def test_what_heals_a_key(lake: MirroredLake, later: dict[str, object], healed: bool) -> None:
    lake.ingest(refusal(b'{"id": 9}', BROKEN), change("update", 11, 2, name="before"), refusal(b'{"id": 2}', BROKEN))
    lake.ingest(later)
    lake.apply()
    assert any(example.startswith("id=2:") for example in doubt(lake).examples) == (not healed)


def broken(commit: int, key: int = 2) -> dict[str, Any]:
    """A change whose image is refused, and whose position can be read."""
    source = b'{"connector": "postgresql", "schema": "public", "table": "birds", "lsn": %d}' % commit
    value = b'{"op": "u", "after": {"id": %d, "weight": "heavy"}, "source": %s}' % (key, source)
    return refusal(b'{"id": %d}' % key, value)


@pytest.mark.parametrize(
    ("later", "healed"),
    [
        (change("update", 21, 2, name="new"), True),
        (change("delete", 21, 2), True),
        (change("truncate", 21, partition=1), True),
        (change("update", 21, 2, name="new", partition=1), True),
        (change("tombstone", None, 2), True),
        (change("update", 20, 2, name="the refused one, as it was"), False),
        (change("update", 15, 2, name="late"), False),
        (change("update", 15, 2, name="late", partition=1), False),
        (change("update", 11, 2, name="before"), False),
        (change("delete", 15, 2), False),
        (change("truncate", 15), False),
        (change("update", 21, 2, name="new", without=("song",)), False),
    ],
)
def test_a_known_position_is_healed_by_what_is_newer(
    lake: MirroredLake, later: dict[str, object], healed: bool
) -> None:
    lake.ingest(change("update", 11, 2, name="before"), broken(20))
    lake.ingest(later)
    lake.apply()
    assert (doubt(lake).keys, doubt(lake).healed) == (not healed, healed)


def test_a_tombstone_of_a_delete_that_is_sent_again_heals_nothing(lake: MirroredLake) -> None:
    gone = change("delete", 11, 2), change("tombstone", None, 2)
    lake.ingest(*gone, insert(12, 2), refusal(b'{"id": 2}', BROKEN), broken(20), *gone)
    lake.apply()
    assert (doubt(lake).keys, doubt(lake).healed) == (1, 0)


def test_doubt_stays_with_the_key_that_a_row_had_left_before(lake: MirroredLake) -> None:
    """The refused change is newer than the change of key: it is of a row that was made at the old key since."""
    lake.ingest(broken(20), *moved(12, 2, 20, **TOAST))
    lake.apply()
    assert [example.partition(":")[0] for example in doubt(lake).examples] == ["id=2"]


def test_a_change_that_the_mirror_refused_heals_nothing(lake: MirroredLake) -> None:
    lake.ingest(refusal(b'{"id": 2}', BROKEN))
    contradiction = change("update", 2, 2, name="impostor")
    lake.ingest(contradiction)
    lake.apply(contradiction)
    assert doubt(lake).keys == 1


def test_nothing_is_read_where_it_would_be_too_much(lake: MirroredLake) -> None:
    lake.ingest(refusal(b'{"id": 2}', BROKEN), insert(11, 11))
    lake.apply()
    assert find_doubt(lake.catalog, lake.tables, lake.declarations, limit=0) is None


def test_before_the_first_run_nothing_is_in_doubt(tmp_path: Path) -> None:
    fresh = MirroredLake(open_catalog(sql_settings(tmp_path)), Mirror(name=BIRDS, changelog=LOG))
    assert doubt(fresh).count == 0
    fresh.catalog.drop_table(tuple(fresh.stream.quarantine_table.split(".")))
    assert doubt(fresh).count == 0


def moved(commit: int, old: int, new: int, **more: Any) -> tuple[dict[str, object], dict[str, object]]:
    """A change of key: a delete and an insert, that know of each other."""
    insertion = change("insert", commit, new, name="moved", other=old, **{"sequence": 1, **more})
    return change("delete", commit, old, other=new), insertion


TOAST: dict[str, Any] = {"without": ("song",)}  # what the source does not send again of a large value


@pytest.mark.parametrize(
    ("later", "named"),
    [
        (moved(12, 2, 20, **TOAST), "id=20"),
        (moved(12, 2, 20, song="sent again"), ""),
        ((*moved(12, 2, 20, **TOAST), *moved(13, 20, 30, **TOAST)), "id=30"),
        ((*moved(12, 2, 20, **TOAST), change("update", 13, 20, name="new", song="new")), ""),
        ((*moved(12, 2, 20, **TOAST), change("update", 13, 20, name="new", **TOAST)), "id=20"),
        ((*moved(12, 2, 20, **TOAST), change("truncate", 13)), ""),
        ((change("update", 11, 2, name="new", song="new"), *moved(12, 2, 20, **TOAST)), ""),
        (moved(12, 3, 20, **TOAST), "id=2"),
    ],
    ids=[
        "moved",
        "sent whole",
        "moved twice",
        "healed after",
        "not healed after",
        "truncate",
        "healed before",
        "other",
    ],
)
def test_doubt_goes_along_with_a_row_whose_key_changes(
    lake: MirroredLake, later: tuple[dict[str, object], ...], named: str
) -> None:
    lake.ingest(refusal(b'{"id": 2}', BROKEN))
    lake.ingest(*later)
    lake.apply()
    summary = doubt(lake)
    assert [example.partition(":")[0] for example in summary.examples] == ([named] if named else [])
    assert (summary.keys, summary.refused, summary.healed) == (bool(named), 1, not named)


def test_a_key_is_shown_once_however_often_it_was_refused(lake: MirroredLake) -> None:
    lake.ingest(*(refusal(b'{"id": 1}', BROKEN) for _ in range(12)), refusal(b'{"id": 2}', BROKEN))
    lake.apply()
    summary = doubt(lake)
    assert (summary.keys, summary.refused) == (2, 13)
    assert summary.examples == (
        "id=1: wrong_type at partition 0 offset 5",
        "id=2: wrong_type at partition 0 offset 17",
    )
