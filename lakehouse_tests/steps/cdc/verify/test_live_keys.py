"""An insert of a key that is there already: the declared key is none, or a delete is missing.

Guarded mechanism: between two inserts of a key, in the order of positions, there has to be its delete or a truncate.
"""

import polars as pl
import pytest

from lakehouse.steps.cdc.verify.live_keys import inserts_onto_live_keys

Change = tuple[str, int | None, tuple[int, int, int] | None, str]
"""Operation, key, position, and what it says."""


def c(operation: str, commit: int, key: int | None = 1, *, sequence: int = 0, epoch: int = 0, says: str = "") -> Change:
    return operation, key, (epoch, commit, sequence), says


def live_key_inserts(*changes: Change) -> list[tuple[int, int]]:
    """Commit and sequence of the inserts; changes arrive as they are written."""
    columns = {
        "id": [key for _, key, _, _ in changes],
        "_operation": [operation for operation, *_ in changes],
        **{
            name: [None if position is None else position[part] for _, _, position, _ in changes]
            for part, name in enumerate(("_epoch", "_commit", "_sequence"))
        },
        "_partition": [0] * len(changes),
        "_offset": list(range(len(changes))),
        "_said": [f"{operation} {says}" for operation, _, _, says in changes],
    }
    types = {"id": pl.Int64, "_epoch": pl.Int64, "_commit": pl.Int64, "_sequence": pl.Int64}
    inserts = inserts_onto_live_keys(pl.DataFrame(columns, schema_overrides=types), ["id"])
    return list(inserts.select("_commit", "_sequence").iter_rows())


def test_two_equal_rows_are_reported() -> None:
    assert live_key_inserts(c("insert", 5), c("insert", 6)) == [(6, 0)]


@pytest.mark.parametrize(
    ("changes", "inserts"),
    [
        ([], []),
        ([c("insert", 5), c("update", 6), c("insert", 7), c("insert", 8)], [(7, 0), (8, 0)]),
        ([c("insert", 6), c("insert", 5)], [(6, 0)]),
        ([c("insert", 5, None), c("insert", 6, None)], [(6, 0)]),
        ([c("insert", 5), c("insert", 6, 2)], []),
        ([c("insert", 5), c("delete", 6), c("insert", 7)], []),
        ([c("insert", 5), c("insert", 7), c("delete", 6)], []),
        ([c("insert", 5), c("insert", 5)], []),
        ([c("read", 0), c("insert", 7)], []),
        ([c("insert", 5), ("tombstone", 1, None, "")], []),
        ([c("insert", 5), c("truncate", 6, None), c("insert", 7)], []),
        ([c("insert", 5), c("truncate", 7, None), c("insert", 7)], []),
        ([c("insert", 5), c("truncate", 4, None), c("insert", 7)], [(7, 0)]),
        ([c("insert", 5), c("truncate", 8, None), c("insert", 7)], [(7, 0)]),
        ([c("insert", 5), c("insert", 1, epoch=1)], []),
        ([c("insert", 5, sequence=6), c("insert", 7, sequence=7)], [(7, 7)]),
        ([c("insert", 5, sequence=6), c("insert", 5, sequence=7)], [(5, 7)]),
    ],
)
def test_between_two_inserts_of_a_key_it_has_to_go(changes: list[Change], inserts: list[tuple[int, int]]) -> None:
    assert live_key_inserts(*changes) == inserts


def test_what_is_sent_again_after_a_restart_is_the_same_insert() -> None:
    """The connector does not know the commit before: the change's own place in the log stands for it."""
    first = [c("insert", 5, sequence=6, says="a"), c("update", 5, sequence=7, says="b")]
    again = [c("insert", 6, sequence=6, says="a"), c("update", 6, sequence=7, says="b")]
    assert live_key_inserts(*first, *again) == []
    assert live_key_inserts(*first, c("insert", 6, sequence=6, says="another")) == [(6, 6)]
