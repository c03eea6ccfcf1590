"""Of a history that our own steps wrote nothing is remarkable; whatever else there is, is handed on.

What was left out, no seal would carry on and no audit name.
"""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadataV2
from pyiceberg.table.snapshots import Snapshot

from lakehouse import seal_keys
from lakehouse.protocol.seals.covered import unsealed_commits
from lakehouse.protocol.seals.foreign_rewrites import foreign_rewrites, recorded_rewrites
from lakehouse.protocol.seals.history import head_of, is_rewrite, is_seal_only, summary_of
from lakehouse.protocol.seals.remarkable import remarkable_snapshots
from lakehouse.protocol.seals.settling import settles
from lakehouse_tests.fixtures.lakes import SCHEMA, Lake

_SEAL = {seal_keys.VERSION: "1", seal_keys.KIND: "ingest"}
_IDS = st.lists(st.integers(1, 12), max_size=3).map(str)
_KEYS = st.fixed_dictionaries(
    {},
    optional={
        seal_keys.PREFIX + seal_keys.FOREIGN_REWRITES: _IDS,
        seal_keys.PREFIX + seal_keys.FOREIGN_PROVEN: _IDS,
        seal_keys.PREFIX + seal_keys.REWRITE_CLAIMED: _IDS,
        seal_keys.KIND: st.sampled_from(["ingest", "adopt", "maintenance"]),
        "added-data-files": st.just("1"),
    },
)
_ATTEMPTS = st.sampled_from([{}, {seal_keys.ATTEMPT: "a"}, {seal_keys.ATTEMPT: "b"}])
_SUMMARIES = st.one_of(
    st.tuples(st.just(_SEAL), _ATTEMPTS, _KEYS).map(lambda parts: parts[0] | parts[1] | parts[2]),
    st.tuples(st.just({"added-records": "1"}), _ATTEMPTS).map(lambda parts: parts[0] | parts[1]),
)
_HISTORIES = st.lists(st.tuples(st.sampled_from(["append", "replace"]), _SUMMARIES), max_size=12)


def test_what_our_own_steps_write_is_ordinary(sql_lake: Lake) -> None:
    name = sql_lake.create("a")
    for number in range(4):
        sql_lake.write(f"s{number}", a=[number])
    table = sql_lake.load(name)
    assert len(table.metadata.snapshots) == 9
    assert not list(remarkable_snapshots(table, head_of(table)))


@given(_HISTORIES)
def test_nothing_is_lost_by_passing_over_the_rest(history: list[tuple[str, dict[str, str]]]) -> None:
    table, newest_first = _table(history)
    head = newest_first[0].snapshot_id if newest_first else None
    assert {commit.snapshot_id for commit in unsealed_commits(table, head)} == _uncovered(newest_first)
    assert [snapshot.snapshot_id for snapshot in foreign_rewrites(table, head)] == _foreign(newest_first)
    assert recorded_rewrites(table, head) == _recorded(newest_first)
    if newest_first:
        until = newest_first[len(newest_first) // 2].snapshot_id
        newer = newest_first[: len(newest_first) // 2]
        assert [s.snapshot_id for s in foreign_rewrites(table, head, until={until})] == _foreign(newer)


def _uncovered(newest_first: list[Snapshot]) -> set[int]:
    """By the definition, snapshot by snapshot."""
    commits, sealed_by = set[int](), None
    for snapshot in newest_first:
        summary = summary_of(snapshot)
        if seal_keys.VERSION in summary:
            sealed_by = summary.get(seal_keys.ATTEMPT)
            if not is_seal_only(snapshot):
                commits.add(snapshot.snapshot_id)
            elif settles(summary):
                break
        elif not (sealed_by is not None and summary.get(seal_keys.ATTEMPT) == sealed_by) and not is_rewrite(snapshot):
            commits.add(snapshot.snapshot_id)
    return commits


def _foreign(newest_first: list[Snapshot]) -> list[int]:
    listed, proven, claimed, sealed_by = list[int](), set[int](), set[int](), None
    for snapshot in newest_first:
        summary = summary_of(snapshot)
        attempt = summary.get(seal_keys.ATTEMPT)
        if seal_keys.VERSION in summary:
            if settles(summary):
                break
            sealed_by, claimed = attempt, _ids(summary, seal_keys.REWRITE_CLAIMED)
            proven |= _ids(summary, seal_keys.FOREIGN_PROVEN)
        elif (
            is_rewrite(snapshot)
            and snapshot.snapshot_id not in claimed | proven
            and (attempt is None or attempt != sealed_by)
        ):
            listed.append(snapshot.snapshot_id)
    return listed


def _recorded(newest_first: list[Snapshot]) -> set[int]:
    recorded, proven = set[int](), set[int]()
    for snapshot in newest_first:
        summary = summary_of(snapshot)
        if settles(summary):
            break
        if seal_keys.VERSION in summary:
            proven |= _ids(summary, seal_keys.FOREIGN_PROVEN)
            recorded |= _ids(summary, seal_keys.FOREIGN_REWRITES)
    return recorded - proven


def _ids(summary: Any, key: str) -> set[int]:
    text = summary.get(seal_keys.PREFIX + key, "[]").strip("[]")
    return {int(part) for part in text.split(",") if part}


def _table(history: list[tuple[str, dict[str, str]]]) -> tuple[Table, list[Snapshot]]:
    """A table whose main has these snapshots, oldest first; and they, newest first."""
    snapshots = [
        Snapshot.model_validate(
            {
                "snapshot-id": number,
                "parent-snapshot-id": number - 1 or None,
                "sequence-number": number,
                "timestamp-ms": 1_700_000_000_000 + number,
                "manifest-list": f"file:///m{number}.avro",
                "summary": {"operation": operation, **summary},
            }
        )
        for number, (operation, summary) in enumerate(history, start=1)
    ]
    metadata = TableMetadataV2.model_validate(
        {
            "location": "file:///t",
            "last-column-id": 1,
            "schemas": [SCHEMA.model_dump()],
            "partition-specs": [{"spec-id": 0, "fields": []}],
            "last-updated-ms": 1_700_000_000_000,
            "snapshots": snapshots,
        }
    )
    return Table(("n", "t"), metadata, "file:///t/m.json", PyArrowFileIO(), None), snapshots[::-1]  # pyright: ignore[reportArgumentType]
