"""Something happens after a publish has judged its tables and before the catalog gets the transaction.

Guarded mechanism: the transaction's requirements repeat what was judged. Each case fails without its requirement.
"""

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pytest
from pyiceberg.types import LongType

from lakehouse.protocol.commit import Staged, publish
from lakehouse.protocol.errors import CommitError, ForeignCommit, SchemaChanged, Superseded, TableReplaced
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse_tests.fixtures.lakes import Lake
from lakehouse_tests.protocol.commit.oracle import Oracle

pytestmark = pytest.mark.slow

Event = Callable[[Lake, Staged], object]


def main_moves(lake: Lake, _: Staged) -> None:
    lake.write("twin", a=[3])


def branch_moves(lake: Lake, staged: Staged) -> None:
    table = lake.load(staged.base.name)
    table.append(table.scan().to_arrow(), branch=staged.branch)


def schema_changes(lake: Lake, staged: Staged) -> None:
    with lake.load(staged.base.name).update_schema() as update:
        update.add_column("more", LongType())


def table_is_replaced(lake: Lake, staged: Staged) -> None:
    """By a copy with the same snapshots and branches but an identity of its own: only the UUID tells them apart."""
    written = Path(urlparse(lake.load(staged.base.name).metadata_location).path)
    lake.catalog.drop_table(staged.base.name)
    copy = written.with_name(f"00099-{uuid.uuid4()}.metadata.json")
    copy.write_text(written.read_text().replace(staged.base.uuid, str(uuid.uuid4())))
    lake.catalog.register_table(staged.base.name, copy.as_uri())


EVENTS: list[tuple[Event, type[CommitError]]] = [
    (main_moves, Superseded),
    (branch_moves, ForeignCommit),
    (schema_changes, SchemaChanged),
    (table_is_replaced, TableReplaced),
]


@pytest.mark.parametrize(("event", "expected"), EVENTS)
def test_at_the_last_moment(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, event: Event, expected: type[CommitError]
) -> None:
    names = [lake.create("a"), lake.create("b")]
    lake.write("first", a=[1], b=[1])
    bases, work = lake.bases(*names), Attempt(run_id="r", step="s")
    staged = [lake.stage(bases[name], work, [2]) for name in names]
    real, before = lake.catalog.commit_tables, iter([event])

    def send(changes: Any) -> None:
        if (now := next(before, None)) is not None:
            now(lake, staged[0])
        real(changes)

    monkeypatch.setattr(lake.catalog, "commit_tables", send)
    with pytest.raises(expected):
        publish(lake.catalog, staged)
    oracle = Oracle.of(lake)
    assert oracle.rows("b") == {1: "1"}
    assert 2 not in oracle.rows("a")
