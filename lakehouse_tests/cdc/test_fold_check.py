"""The second fold is what the definition says, and whatever is done to a mirror behind its back is found and named."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakehouse.cdc import fold as folding
from lakehouse.cdc.fold import Fold, canonical
from lakehouse_tests.cdc.mirrored import COLUMNS, Row, change, fold

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
    found: list[Row] = []
    for number, commit in enumerate(commits):
        operation = draw(
            st.sampled_from(["insert", "update", "update", "delete", "tombstone", "read", "truncate", "control"])
        )
        key = draw(st.integers(1, 4))
        without = draw(st.sets(st.sampled_from(COLUMNS[1:]), max_size=2)) if operation == "update" else ()
        if operation in ("truncate", "control"):
            one = change(operation, commit)
        elif operation == "tombstone" and draw(st.booleans()):
            one = change(operation, None, key, partition=key % 2)
        else:
            text = draw(st.sampled_from(["a", "b", None]))
            one = change(operation, commit, key, partition=key % 2, name=text, song=f"{commit}", without=without)
        found.append(one | {"_kafka_offset": number})
    return found


def plain(row: Row, *, soft: bool) -> Row:
    """A mirror's row by the definition, as far as the fold says it."""
    names = (*COLUMNS, "_cdc_position", *(["_cdc_deleted"] if soft else []))
    behind = dict(row["_cdc_behind"] or ())
    told = {n: None if row[n] is None else position for n, position in behind.items()}
    return {name: row[name] for name in names} | {"_cdc_behind": told}


@settings(max_examples=150, deadline=None)
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
        for begin in range(0, len(changes), piece):
            folded.add(frame_of(given_order[begin : begin + piece]))
        result = folded.result()
    found = canonical(result.rows, COLUMNS).drop("_partition", "_offset").to_dicts()
    for row in found:
        row["_cdc_behind"] = {e["key"]: e["value"] for e in row["_cdc_behind"] or ()}
    assert {row["id"]: row for row in found} == {key: plain(row, soft=soft) for key, row in rows.items()}
    if not soft:
        found_gone = {r["id"]: (r["_cdc_position"], r["_time"]) for r in result.gone.to_dicts()}
        assert found_gone == {key: (r["_cdc_position"], r["_cdc_source_time"]) for key, r in gone.items()}
