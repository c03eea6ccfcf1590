"""Completes a publish that came no further than some of its tables: by a catalog that changes one after another.

Such a catalog (`LakeCatalog.commits_together`) can be left half-way by a kill. Tables that the attempt had reached say
so in their newest seals; the others still have its sealed branch, and where `main` has to be for it. So what is missing
is published from there: by the attempt's own seal, with everything that `publish` asks of any attempt. A table whose
branch is gone is left as it is, and the step that plans on it says so. What cannot be completed is an error, and never
the good end of somebody who came second: half of the step is missing.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import cast

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRefType

from lakehouse.iceberg.names import identifier_of, table_name
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.commit.publish import publish
from lakehouse.protocol.commit.staged import Staged
from lakehouse.protocol.errors import (
    ForeignCommit,
    HalfPublished,
    MainBusy,
    MainMoved,
    MetadataFileDamaged,
    SchemaChanged,
    SealBroken,
    StagedFilesLost,
    Superseded,
)
from lakehouse.protocol.seals.attempt import BRANCH_PREFIX, Attempt, attempt_in
from lakehouse.protocol.seals.base import Base
from lakehouse.protocol.seals.history import MAIN, ancestry, attempt_of, head_of, last_seal, seals
from lakehouse.protocol.seals.seal import MAINTENANCE, Seal


def complete_publish(catalog: LakeCatalog, names: Sequence[str]) -> list[str]:
    """Publish what the newest attempt at a step has staged, and not published, beside what it has.

    Args:
        catalog: where the tables live; one that changes tables together has nothing to be completed.
        names: all tables of the step; those that do not exist, or are damaged, are left out.

    Returns:
        Names of the tables that were behind, and are not any more.

    Raises:
        HalfPublished: what is staged cannot be published any more.
        CommitError: the publish did not go through; see `publish`.
    """
    if catalog.commits_together or len(names) < 2:
        return []
    tables = list(_readable(catalog, names))
    published = _published(tables)
    staged = [item for table in tables for item in _left_behind(table, published)]
    for item in staged:
        try:
            publish(catalog, [item])
        except MainBusy:
            raise
        except (Superseded, MainMoved, ForeignCommit, SchemaChanged, StagedFilesLost) as ended:
            attempt = item.attempt.id
            raise HalfPublished(item.base.name, attempt, published[attempt], ended.message) from ended
    return [item.base.name for item in staged]


def stopped_publish(bases: Iterable[Base]) -> str:
    """What a publish has left for `complete_publish` to do, as a sentence; empty if nothing.

    Whoever seals over it would have it forgotten: tables of a step that does not move the position still agree on that.

    Args:
        bases: of tables that one step writes.
    """
    tables = [base.table for base in bases]
    if not tables or cast("LakeCatalog", tables[0].catalog).commits_together:
        return ""
    published = _published(tables)
    for item in (item for table in tables for item in _left_behind(table, published)):
        others = ", ".join(sorted(published[item.attempt.id]))
        return f"attempt {item.attempt.id} published {others} and stopped before {item.base.name}"
    return ""


def _published(tables: Iterable[Table]) -> dict[str, list[str]]:
    """Attempt → the tables whose newest step it is."""
    published: dict[str, list[str]] = {}
    for table in tables:
        if (seal := _newest_step(table)) is not None:
            published.setdefault(seal.attempt, []).append(table_name(table))
    return published


def _readable(catalog: LakeCatalog, names: Sequence[str]) -> Iterator[Table]:
    """The tables that can be read; of another the step itself says what is the matter, and whether it goes on."""
    for identifier in catalog.locations([identifier_of(name) for name in names]).known:
        with suppress(NoSuchTableError, MetadataFileDamaged, SealBroken):
            table = catalog.load_table(identifier)
            for branch in (MAIN, *(name for name in table.metadata.refs if name.startswith(BRANCH_PREFIX))):
                last_seal(table, branch)
            yield table


def _newest_step(table: Table) -> Seal | None:
    """What the newest step said; one of maintenance is of one table alone."""
    return next((s.seal for s in seals(table, head_of(table)) if s.seal.kind != MAINTENANCE), None)


def _left_behind(table: Table, published: Mapping[str, Collection[str]]) -> Iterator[Staged]:
    own = {attempt_of(snapshot) for snapshot in ancestry(table, head_of(table))}
    newest: dict[str, Staged] = {}
    for branch, ref in table.metadata.refs.items():
        attempt = attempt_in(branch) if branch.startswith(BRANCH_PREFIX) else ""
        if ref.snapshot_ref_type != SnapshotRefType.BRANCH or attempt not in published or attempt in own:
            continue
        sealed = last_seal(table, branch)
        if sealed is None or sealed.snapshot_id != ref.snapshot_id or sealed.seal.attempt != attempt:
            continue  # staged, and not sealed: the attempt itself would not have published it
        if (base := _base(table, branch, attempt)) is None:
            cut = f"its branch {branch} was cut by an expiry: where it began is not known any more."
            raise HalfPublished(table_name(table), attempt, published[attempt], cut)
        item = Staged(base, _attempt(sealed.seal), branch, ref.snapshot_id, sealed.seal)
        if attempt not in newest or sealed.timestamp_ms >= _sealed_ms(table, newest[attempt]):
            newest[attempt] = item  # a rebase leaves the branch of its first base behind
    yield from newest.values()


def _base(table: Table, branch: str, attempt: str) -> Base | None:
    """Where the attempt began; None if that has expired.

    `main` may have been rewritten since, which is no reason not to go on.
    """
    began = None
    for snapshot in ancestry(table, head_of(table, branch)):
        began = snapshot.snapshot_id if attempt_of(snapshot) != attempt else snapshot.parent_snapshot_id
        if attempt_of(snapshot) != attempt:
            break
    if began is not None and table.metadata.snapshot_by_id(began) is None:
        return None
    return replace(Base.of(table), snapshot_id=began)


def _sealed_ms(table: Table, staged: Staged) -> int:
    snapshot = table.metadata.snapshot_by_id(staged.head)
    return snapshot.timestamp_ms if snapshot is not None else 0


def _attempt(seal: Seal) -> Attempt:
    return Attempt(
        run_id=seal.run_id,
        step=seal.step,
        root_run_id=seal.root_run_id,
        runtime_date=seal.runtime_date,
        code_version=seal.code_version,
        parameters_digest=seal.parameters_digest,
        id=seal.attempt,
    )
