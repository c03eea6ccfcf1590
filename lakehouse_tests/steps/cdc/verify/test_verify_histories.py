"""The fold of any history is what its definition says, and whatever is done to rows is named."""

from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lakehouse.steps.cdc.replay import replay as folding
from lakehouse.steps.cdc.replay.column_versions import canonical
from lakehouse.steps.cdc.replay.key_change_replay import OTHER, LeftOut
from lakehouse.steps.cdc.replay.replay import Fold
from lakehouse_tests.proofs.audit.document import ancestry, edit_document
from lakehouse_tests.steps.cdc.mirrored import BIRDS, Saved
from lakehouse_tests.steps.cdc.mirrored_rows import COLUMNS, Row, change, fold, left_out
from lakehouse_tests.steps.cdc.verify.checked import check, filled, lake

__all__ = ["filled", "lake"]

pytestmark = pytest.mark.slow
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
    found: list[Row] = []
    for commit in commits:
        operation = draw(
            st.sampled_from(
                ["insert", "update", "update", "delete", "tombstone", "read", "truncate", "control", "move"]
            )
        )
        key = draw(st.integers(1, 4))
        without = draw(st.sets(st.sampled_from(COLUMNS[1:]), max_size=2)) if operation in ("update", "move") else ()
        if operation in ("truncate", "control"):
            one = change(operation, commit)
        elif operation == "tombstone" and draw(st.booleans()):
            one = change(operation, None, key, partition=key % 2)
        elif operation == "move":
            to = key % 4 + 1
            sent = {"partition": to % 2, "name": f"{commit}", "without": without, "other": key}
            found.append(change("delete", commit, key, partition=key % 2) | {"_kafka_offset": len(found)})
            one = change("insert", commit, to, **sent)
        else:
            text = draw(st.sampled_from(["a", "b", None]))
            one = change(operation, commit, key, partition=key % 2, name=text, song=f"{commit}", without=without)
        found.append(one | {"_kafka_offset": len(found)})
    return found


def plain(row: Row, *, soft: bool) -> Row:
    """A mirror's row by the definition, as far as the fold says it."""
    names = (*COLUMNS, "_cdc_position", *(["_cdc_deleted"] if soft else []))
    behind = dict(row["_cdc_behind"] or ())
    told = {n: None if row[n] is None else position for n, position in behind.items()}
    return {name: row[name] for name in names} | {"_cdc_behind": told}


def completed(changes: list[Row], pieces: list[pl.DataFrame], *, soft: bool) -> list[pl.DataFrame]:
    """The pieces, in which changes of key have what they left out."""
    moved = [one for one in changes if left_out(one)]
    if not moved:
        return pieces
    others = pl.Series(f"{OTHER}id", [one["other_key"]["id"] for one in moved], pl.Int64)
    found = LeftOut(["id"], frame_of(moved).with_columns(others))
    for piece in pieces:
        found.keep(piece, stored=False, new=pl.lit(True))
    found.play(soft=soft, truncated=None)
    return [found.complete(piece) for piece in pieces]


@settings(max_examples=250, deadline=None)
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
    found = canonical(result.rows, COLUMNS).drop("_partition", "_offset").to_dicts()
    for row in found:
        row["_cdc_behind"] = {e["key"]: e["value"] for e in row["_cdc_behind"] or ()}
    assert {row["id"]: row for row in found} == {key: plain(row, soft=soft) for key, row in rows.items()}
    if not soft:
        found_gone = {r["id"]: (r["_cdc_position"], r["_time"]) for r in result.deletes.to_dicts()}
        assert found_gone == {key: (r["_cdc_position"], r["_cdc_source_time"]) for key, r in gone.items()}


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
    return [row for held in rows.values() for row in held], done


SOUND: list[Row] = []


_TOLD = {"dropped": "is missing", "added": "should not be there", "doubled": "is there twice"}


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
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
        assert _TOLD.get(done[int(example.key["id"])], "differs" if "song" in example.columns else "should be") in str(
            example
        )
