"""The second fold is what the definition says, and whatever is done to a mirror behind its back is found and named."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakehouse.declarations import Mirror
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.seals.history import last_seal
from lakehouse.steps.cdc.replay import replay as folding
from lakehouse.steps.cdc.replay.buckets import Buckets
from lakehouse.steps.cdc.replay.column_versions import canonical
from lakehouse.steps.cdc.replay.consumed import CannotFold
from lakehouse.steps.cdc.replay.key_change_replay import OTHER, LeftOut
from lakehouse.steps.cdc.replay.replay import Fold
from lakehouse.steps.cdc.statement import MirrorStatement
from lakehouse.steps.cdc.verify.verify import FoldProof, check_fold
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.proofs.audit.document import ancestry, edit_document, redigest, seals
from lakehouse_tests.steps.cdc.mirrored import (
    BIRDS,
    COLUMNS,
    LOG,
    REFUSED,
    TOMBSTONES,
    MirroredLake,
    Row,
    Saved,
    change,
    fold,
    insert,
    left_out,
)

pytestmark = pytest.mark.slow

PARTS = ("epoch", "commit", "sequence")
_IMAGE = pl.Struct({"id": pl.Int64, "name": pl.String, "weight": pl.Float64, "song": pl.String})


def frame_of(changes: list[Row]) -> pl.DataFrame:
    """Changes in the shape that the fold takes."""
    return pl.DataFrame(
        {
            "id": [(c["key"] or {}).get("id") for c in changes],
            "_operation": [c["operation"] for c in changes],
            **{
                f"_{part}": [(c["position"] or {}).get(part) for c in changes]
                for part in ("epoch", "commit", "sequence")
            },
            "_time": [c["source_time"] for c in changes],
            "_topic": ["birds"] * len(changes),
            "_partition": [c["_kafka_partition"] for c in changes],
            "_offset": [c["_kafka_offset"] for c in changes],
            "_unavailable": [c["unavailable"] for c in changes],
            "_after": [c["after"] for c in changes],
        },
        schema={
            "id": pl.Int64,
            "_operation": pl.String,
            "_epoch": pl.Int64,
            "_commit": pl.Int64,
            "_sequence": pl.Int64,
            "_time": pl.Datetime("us", "UTC"),
            "_topic": pl.String,
            "_partition": pl.Int64,
            "_offset": pl.Int64,
            "_unavailable": pl.List(pl.String),
            "_after": _IMAGE,
        },
    )


@st.composite
def histories(draw: st.DrawFn) -> list[Row]:
    """Changes of few keys, each at a position of its own, arriving in any order in two partitions."""
    length = draw(st.integers(1, 25))
    commits = draw(st.permutations(range(1, length + 1)))
    rows: list[Row] = []
    for commit in commits:
        operation = draw(
            st.sampled_from(
                ["insert", "update", "update", "delete", "tombstone", "read", "truncate", "control", "move"]
            )
        )
        key = draw(st.integers(1, 4))
        without = draw(st.sets(st.sampled_from(COLUMNS[1:]), max_size=2)) if operation in ("update", "move") else ()
        if operation in ("truncate", "control"):
            row = change(operation, commit)
        elif operation == "tombstone" and draw(st.booleans()):
            row = change(operation, None, key, partition=key % 2)
        elif operation == "move":
            to = key % 4 + 1
            sent = {"partition": to % 2, "name": f"{commit}", "without": without, "other": key}
            rows.append(change("delete", commit, key, partition=key % 2) | {"_kafka_offset": len(rows)})
            row = change("insert", commit, to, **sent)
        else:
            text = draw(st.sampled_from(["a", "b", None]))
            row = change(operation, commit, key, partition=key % 2, name=text, song=f"{commit}", without=without)
        rows.append(row | {"_kafka_offset": len(rows)})
    return rows


def plain(row: Row, *, soft: bool) -> Row:
    """A mirror's row by the definition, as far as the fold says it."""
    names = (*COLUMNS, "_cdc_position", *(["_cdc_deleted"] if soft else []))
    behind = dict(row["_cdc_behind"] or ())
    positions = {n: None if row[n] is None else position for n, position in behind.items()}
    return {name: row[name] for name in names} | {"_cdc_behind": positions}


def completed(changes: list[Row], pieces: list[pl.DataFrame], *, soft: bool) -> list[pl.DataFrame]:
    """The pieces, in which changes of key have what they left out."""
    moved = [change for change in changes if left_out(change)]
    if not moved:
        return pieces
    others = pl.Series(f"{OTHER}id", [change["other_key"]["id"] for change in moved], pl.Int64)
    completion = LeftOut(["id"], frame_of(moved).with_columns(others))
    for piece in pieces:
        completion.keep(piece, stored=False, new=pl.lit(True))
    completion.play(soft=soft, truncated=None)
    return [completion.complete(piece) for piece in pieces]


@settings(max_examples=120, deadline=None)
@given(histories(), st.booleans(), st.randoms(), st.sampled_from([1, 3, 1000]))
def test_the_fold_is_what_the_definition_says_however_the_changes_are_cut(
    changes: list[Row], soft: bool, random: Any, piece: int
) -> None:
    rows, gone = fold(changes, soft=soft)
    given_order = list(changes)
    random.shuffle(given_order)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folding, "_PIECE", piece)
        folded = Fold(["id"], COLUMNS, soft=soft)
        pieces = [frame_of(given_order[begin : begin + piece]) for begin in range(0, len(changes), piece)]
        for each in completed(changes, pieces, soft=soft):
            folded.add(each)
        result = folded.result()
    plain_rows = canonical(result.rows, COLUMNS).drop("_partition", "_offset").to_dicts()
    for row in plain_rows:
        row["_cdc_behind"] = {e["key"]: e["value"] for e in row["_cdc_behind"] or ()}
    assert {row["id"]: row for row in plain_rows} == {key: plain(row, soft=soft) for key, row in rows.items()}
    if not soft:
        tombstones = {r["id"]: (r["_cdc_position"], r["_time"]) for r in result.deletes.to_dicts()}
        assert tombstones == {key: (r["_cdc_position"], r["_cdc_source_time"]) for key, r in gone.items()}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Saved:
    """Twelve birds in three runs: some renamed, one gone, one gone and back, one partly sent."""
    folder = tmp_path_factory.mktemp("lake")
    made = MirroredLake(open_catalog(sql_settings(folder)))
    fill(made)
    return Saved(made, folder)


@pytest.fixture
def lake(filled: Saved) -> MirroredLake:
    return filled.again()


def fill(lake: MirroredLake) -> None:
    lake.ingest(*(insert(n, n, partition=n % 2) for n in range(1, 11)))
    lake.apply()
    lake.ingest(
        change("update", 20, 1, name="robin", weight=2.0, without=("song",), partition=1),
        change("delete", 21, 2),
        change("tombstone", None, 2),
        change("delete", 22, 3, partition=1),
        insert(23, 3, name="wren", partition=1),
        insert(4, 4),  # as before: a duplicate
    )
    lake.apply()
    lake.ingest(insert(31, 11, partition=1), insert(32, 12), change("update", 33, 5, name="owl", partition=1))
    lake.apply()


def check(lake: MirroredLake, **more: Any) -> FoldProof:
    return check_fold(lake.catalog, lake.tables, **more)


def kinds(proof: FoldProof) -> set[str]:
    return {finding.kind for finding in proof.findings}


def message(proof: FoldProof, kind: str, has: str = "") -> str:
    messages = [finding.message for finding in proof.findings if finding.kind == kind and has in finding.message]
    assert messages, proof.findings
    return messages[0]


def edited(rows: list[Row], key: int, **values: Any) -> list[Row]:
    return [row | values if row["id"] == key else row for row in rows]


def test_a_sound_mirror_is_its_changelog(lake: MirroredLake) -> None:
    proof = check(lake)
    assert (proof.changes, proof.expected, proof.difference.compared) == (19, 11, 11)
    assert (proof.looked_at, proof.began) == ("every key", "the changelog's first row")


def test_soft_deletes_and_a_truncate_hold_as_well(tmp_path: Path) -> None:
    for deletes in ("hard", "soft"):
        folder = tmp_path / deletes
        folder.mkdir()
        lake = MirroredLake(open_catalog(sql_settings(folder)), Mirror(name=BIRDS, changelog=LOG, deletes=deletes))
        fill(lake)
        lake.ingest(change("truncate", 40), insert(41, 7), change("control", 42), insert(35, 8))
        lake.apply()
        proof = check(lake)
        assert proof.holds, proof.findings
        assert proof.expected == (1 if deletes == "hard" else 12)


def test_a_changed_value_is_named_by_key_and_column(lake: MirroredLake) -> None:
    lake.tamper(BIRDS, edited(lake.rows(), 1, name="raven", song="caw"))
    proof = check(lake)
    text = message(proof, "rows_differ")
    assert "1 rows differ (in name: 1, song: 1): id=1: name should be 'robin', is 'raven'; song differs" in text
    assert "caw" not in str(proof)
    assert "song 1" not in str(proof)
    assert "unsealed_commit" in kinds(proof)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("_cdc_position", {"epoch": 0, "commit": 99, "sequence": 0}),
        ("_cdc_behind", None),
        ("_cdc_behind", [("song", {"epoch": 0, "commit": 19, "sequence": 0})]),
    ],
)
def test_what_is_remembered_of_a_row_is_compared_as_well(lake: MirroredLake, column: str, value: Any) -> None:
    lake.tamper(BIRDS, edited(lake.rows(), 1, **{column: value}))
    assert f"(in {column}: 1): id=1" in message(check(lake), "rows_differ")


def test_a_deleted_row_is_named(lake: MirroredLake) -> None:
    lake.load(BIRDS).delete("id = 7")
    text = message(check(lake), "rows_differ")
    assert "1 rows are missing: id=7: is missing (partition 1 offset 3)" in text


def test_a_row_that_was_put_in_is_named(lake: MirroredLake) -> None:
    lake.tamper(BIRDS, [*lake.rows(), lake.rows()[0] | {"id": 77}])
    assert "1 rows should not be there: id=77" in message(check(lake), "rows_differ")


def test_a_doubled_row_is_named(lake: MirroredLake) -> None:
    lake.tamper(BIRDS, [*lake.rows(), next(row for row in lake.rows() if row["id"] == 9)])
    assert "1 keys are there more than once: id=9" in message(check(lake), "rows_differ")


def test_an_old_version_of_a_row_brought_back_is_named(lake: MirroredLake) -> None:
    old = {"name": "bird 3", "_cdc_position": {"epoch": 0, "commit": 3, "sequence": 0}}
    lake.tamper(BIRDS, edited(lake.rows(), 3, **old))
    text = message(check(lake), "rows_differ")
    assert "id=3: name should be 'wren', is 'bird 3'; _cdc_position should be 0/23/0, is 0/3/0" in text


@pytest.mark.parametrize("name", [BIRDS, TOMBSTONES, REFUSED])
def test_a_table_that_was_rolled_back_alone_is_named(lake: MirroredLake, name: str) -> None:
    lake.roll_back(name)
    proof = check(lake)
    assert f"{name} stands at run mirror-4" in message(proof, "rolled_back")
    if name == BIRDS:
        assert "2 rows are missing: id=11: is missing (partition 1 offset 8); id=12" in message(
            proof, "rows_differ", "missing"
        )
        assert "id=5: name should be 'owl', is 'bird 5'" in message(proof, "rows_differ", "differ")


def test_a_tombstone_that_was_removed_or_put_in_is_named(lake: MirroredLake) -> None:
    tombstones = lake.rows(TOMBSTONES)
    assert [row["id"] for row in tombstones] == [2]
    lake.tamper(TOMBSTONES, [])
    text = message(check(lake), "tombstones_differ")
    assert "are missing or older" in text
    assert "id=2" in text
    lake.tamper(TOMBSTONES, [*tombstones, tombstones[0] | {"id": 9}])
    assert "of no delete that the changelog knows: id=9" in message(check(lake), "tombstones_differ")


def test_an_edited_seal_is_named(lake: MirroredLake, filled: Saved) -> None:
    def edit(document: dict[str, Any]) -> None:
        seals(document)[0]["lakehouse.mirror.rows"] = "12"

    edit_document(filled.database, BIRDS, edit)
    assert "digest does not match" in message(check(lake), "seal_edited")

    def forge(document: dict[str, Any]) -> None:
        redigest(seals(document)[0])

    edit_document(filled.database, BIRDS, forge)
    assert "something else than its siblings" in message(check(lake), "seal_edited")


def test_a_changelog_that_lost_changes_is_named(lake: MirroredLake) -> None:
    lake.tamper(LOG, [row for row in lake.rows(LOG) if row["_kafka_offset"] != 3])
    assert check(lake).holds, "the sealed snapshot is still there"
    table = lake.load(LOG)
    sealed = MirrorStatement.from_keys(last_seal(lake.load(BIRDS)).seal.statement).end  # type: ignore[union-attr]
    table.maintenance.expire_snapshots().by_id(sealed).commit()
    text = message(check(lake), "changes_differ")
    assert "19" not in text
    assert "holds 2 delete, 1 tombstone, 2 update, 12 insert" in text or "insert" in text


def test_without_its_end_the_changelog_is_cut_by_offsets(lake: MirroredLake) -> None:
    end = lake.load(LOG).metadata.current_snapshot_id
    lake.ingest(change("update", 50, 1, name="later", partition=1))
    lake.load(LOG).maintenance.expire_snapshots().by_id(end).commit()
    proof = check(lake)
    assert proof.holds, proof.findings
    assert proof.changes == 19


def test_refused_changes_do_not_count(lake: MirroredLake) -> None:
    other = insert(31, 11, name="impostor", partition=1)
    lake.ingest(other)
    lake.apply(other)
    proof = check(lake)
    assert proof.holds, proof.findings
    assert proof.refused == 1
    lake.tamper(REFUSED, [])
    assert not check(lake).holds


def test_a_large_mirror_is_compared_in_buckets_that_change(lake: MirroredLake) -> None:
    sound = check(lake, limit=3)
    assert sound.holds
    assert "of 1024 buckets" in sound.looked_at
    assert sound.expected < 11
    wrong = [row | {"name": "changed"} for row in lake.rows()]
    lake.tamper(BIRDS, wrong)
    sampled = check(lake, limit=3)
    assert sampled.looked_at != sound.looked_at, "another snapshot, other buckets"
    assert sampled.difference.counts["different"] == sampled.expected


def test_a_changelog_made_anew_cannot_be_folded(lake: MirroredLake) -> None:
    lake.catalog.drop_table(LOG)
    MirroredLake(lake.catalog)
    with pytest.raises(CannotFold, match="another table"):
        check(lake)


def test_what_arrived_before_a_column_was_declared_is_read_from_the_rest(tmp_path: Path) -> None:
    lake = MirroredLake(open_catalog(sql_settings(tmp_path)))
    lake.ingest(insert(1, 1, weight=None) | {"extra": '{"weight": 4.5, "unknown": 1}'}, insert(2, 2))
    lake.apply()
    lake.tamper(BIRDS, edited(lake.rows(), 1, weight=4.5))
    assert kinds(check(lake)) == {"unsealed_commit"}


def test_before_the_first_run_there_is_nothing_to_compare(tmp_path: Path) -> None:
    lake = MirroredLake(open_catalog(sql_settings(tmp_path)))
    assert check(lake).holds
    lake.ingest(insert(1, 1))
    assert check(lake).holds
    lake.tamper(BIRDS, [])
    lake.tamper(TOMBSTONES, [{"id": 1, "_cdc_position": {"epoch": 0, "commit": 1, "sequence": 0}, "_cdc_digest": 1}])
    assert {"unsealed_commit", "no_seal"} <= kinds(check(lake))


def test_an_initial_copy_is_older_than_every_change(tmp_path: Path) -> None:
    lake = MirroredLake(open_catalog(sql_settings(tmp_path)), Mirror(name=BIRDS, changelog=LOG, initial="raw.old"))
    lake.begin_with([{"id": 1, "name": "old", "weight": 9.0}, {"id": 50, "name": "only here"}])
    lake.ingest(insert(1, 1), insert(2, 2))
    lake.apply()
    proof = check(lake)
    assert proof.holds, proof.findings
    assert proof.expected == 3
    assert "raw.old@" in proof.began
    lake.catalog.drop_table("raw.old")
    with pytest.raises(CannotFold, match=r"raw\.old"):
        check(lake)


@st.composite
def mutations(draw: st.DrawFn) -> tuple[list[Row], dict[int, str]]:
    """Mutated rows, given those of the sound mirror, and what was done to which key."""
    rows: dict[int, list[Row]] = {row["id"]: [row] for row in SOUND}
    done: dict[int, str] = {}
    for key in draw(st.sets(st.sampled_from([*sorted(rows), 100, 101]), min_size=0, max_size=3)):
        deed = "added" if key not in rows else draw(st.sampled_from(["dropped", "doubled", "edited", "aged"]))
        done[key] = deed
        match deed:
            case "added":
                rows[key] = [SOUND[0] | {"id": key}]
            case "dropped":
                rows[key] = []
            case "doubled":
                rows[key] = rows[key] * 2
            case "aged":
                position = {**rows[key][0]["_cdc_position"], "commit": 0}
                rows[key] = [rows[key][0] | {"_cdc_position": position}]
            case _:
                column, value = draw(st.sampled_from([("name", "?"), ("name", None), ("weight", -1.0), ("song", "?")]))
                rows[key] = [rows[key][0] | {column: value}]
    return [row for versions in rows.values() for row in versions], done


SOUND: list[Row] = []
_DIFFERENCES = {"dropped": "is missing", "added": "should not be there", "doubled": "is there twice"}


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_whatever_is_done_to_rows_is_named_by_key_even_as_a_rewrite(filled: Saved, data: st.DataObject) -> None:
    lake = filled.again()
    SOUND[:] = lake.rows()
    rows, done = data.draw(mutations())
    lake.tamper(BIRDS, rows)
    edit_document(filled.database, BIRDS, lambda document: ancestry(document)[0]["summary"].update(operation="replace"))
    proof = check(lake)
    assert proof.holds == (not done)
    assert {int(example.key["id"]) for example in proof.examples} == set(done)
    for example in proof.examples:
        assert _DIFFERENCES.get(
            done[int(example.key["id"])], "differs" if "song" in example.columns else "should be"
        ) in str(example)


def test_parts_of_a_mirror_in_which_no_key_moved_are_checked(tmp_path: Path) -> None:
    """A change of key that left a value out is in one part, and the others need nothing of it."""
    lake = MirroredLake(open_catalog(sql_settings(tmp_path)))
    lake.ingest(*(insert(key, key) for key in range(1, 9)))
    lake.apply()
    moved = change("insert", 20, 100, name="moved", weight=1.0, without=("song",), other=1)
    lake.ingest(change("delete", 20, 1), moved)
    lake.apply()
    for part in Buckets.all_in_parts(16, 2):
        assert check_fold(lake.catalog, lake.tables, buckets=part).holds
