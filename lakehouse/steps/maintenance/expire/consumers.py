"""Who reads a table in ranges of snapshots, up to where they have come, and whether each can go on from there.

A mirror and an incremental table say in their own seals what they have read. So they are known whether or not they
have a lease, and whether or not they ever asked for one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table

from lakehouse.declarations import Declarations, Derived, MirrorTables, Release
from lakehouse.iceberg.names import identifier_of, table_name
from lakehouse.proofs.lineage.sealed import made, read_before
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.errors import MetadataFileDamaged, SealBroken
from lakehouse.protocol.seals.base import Base, read_bases
from lakehouse.protocol.seals.history import head_of
from lakehouse.steps.cdc.plan.range import next_range
from lakehouse.steps.cdc.refusals import MirrorRefused
from lakehouse.steps.cdc.step import MAX_CHANGES
from lakehouse.steps.cdc.stored_statement import newest_statement, stored_statement
from lakehouse.steps.derived.inputs.increment import next_increment
from lakehouse.steps.derived.inputs.inputs import Input
from lakehouse.steps.derived.refusals import HistoryLost
from lakehouse.steps.release.errors import PointerDamaged, ReleaseGone, ReleaseUnknown, TagMoved
from lakehouse.steps.release.names import is_tag_of
from lakehouse.steps.release.pointer import read_pointer
from lakehouse.steps.release.reading import open_release
from lakehouse.steps.release.statement import PointerStatement

ConsumerKind = Literal["mirror", "incremental", "release"]


@dataclass(frozen=True)
class Consumer:
    """A table that reads another one in ranges.

    Args:
        kind: `mirror` or `incremental`.
        name: of the table that reads.
        read: the last snapshot that its newest seal says it has read; None where it has not begun.
    """

    kind: Literal["mirror", "incremental"]
    name: str
    read: int | None


@dataclass(frozen=True)
class CutOff:
    """Somebody who cannot read on.

    Args:
        kind: `mirror`, `incremental` or `release`.
        name: of the table that reads, or the release's id.
        message: what is missing.
        remedy: what to do.
    """

    kind: ConsumerKind
    name: str
    message: str
    remedy: str


def consumers_of(catalog: LakeCatalog, declarations: Declarations, name: str) -> tuple[Consumer, ...]:
    """Everybody who reads a table in ranges, by name.

    Raises:
        SealBroken: a seal that says how far was changed after it was written.
    """
    return tuple(sorted(_consumers(catalog, declarations, name), key=lambda consumer: consumer.name))


def readers_of(declarations: Declarations, name: str) -> frozenset[str]:
    """Who is declared to read a table in ranges, whether or not it has a table yet."""
    mirrors = (tables.mirror.name for tables in _mirrors(declarations, name))
    return frozenset((*mirrors, *(derived.name for derived in _followers(declarations, name))))


def begun_with(catalog: LakeCatalog, declarations: Declarations, table: Table) -> dict[str, int]:
    """Mirror → the snapshot of a table with which it began, by its seal: its proof and its rebuild read that one.

    Of mirrors that declare the table as their `initial`, as far as the snapshot is there.

    Raises:
        SealBroken: the seal that says so was changed after it was written.
    """
    begun: dict[str, int] = {}
    for tables in declarations.mirrors.values():
        if tables.mirror.initial != table_name(table) or (mirror := _loaded(catalog, tables.mirror.name)) is None:
            continue
        statement = newest_statement(mirror)
        name, _, snapshot = statement.initial.rpartition("@") if statement is not None else ("", "", "")
        if name == table_name(table) and table.metadata.snapshot_by_id(int(snapshot)) is not None:
            begun[tables.mirror.name] = int(snapshot)
    return begun


def can_plan(catalog: LakeCatalog, declarations: Declarations, name: str) -> tuple[CutOff, ...]:
    """Let everybody who reads a table plan the next range, and open every release of it that is kept.

    Nothing is read and nothing is changed by that.

    Returns:
        Those who cannot, and why; none is as it should be.

    Raises:
        SealBroken, PointerDamaged: what somebody has read, or what is released of the table, cannot be believed.
    """
    table = _loaded(catalog, name)
    if table is None:
        return ()
    cut_off = [_mirror(catalog, tables, table) for tables in _mirrors(declarations, name)]
    cut_off += [_follower(catalog, declarations, derived, table) for derived in _followers(declarations, name)]
    return (*(consumer for consumer in cut_off if consumer is not None), *_releases(catalog, declarations, table))


def _consumers(catalog: LakeCatalog, declarations: Declarations, name: str) -> Iterator[Consumer]:
    for tables in _mirrors(declarations, name):
        if (table := _loaded(catalog, tables.mirror.name)) is not None:
            statement = newest_statement(table)
            read = statement.end if statement is not None and statement.changelog == name else None
            yield Consumer("mirror", tables.mirror.name, read)
    for derived in _followers(declarations, name):
        if (table := _loaded(catalog, derived.name)) is not None:
            yield Consumer("incremental", derived.name, read_before(Base.of(table), name))


def _mirrors(declarations: Declarations, name: str) -> Iterator[MirrorTables]:
    return (tables for tables in declarations.mirrors.values() if tables.changelog.name == name)


def _followers(declarations: Declarations, name: str) -> Iterator[Derived]:
    for derived in declarations.derived.values():
        if derived.follows is not None and derived.inputs[derived.follows] == name:
            yield derived


def _loaded(catalog: LakeCatalog, name: str) -> Table | None:
    try:
        return catalog.load_table(identifier_of(name))
    except NoSuchTableError:
        return None


def _mirror(catalog: LakeCatalog, tables: MirrorTables, changelog: Table) -> CutOff | None:
    name = tables.mirror.name
    try:
        bases = read_bases(catalog, [table.name for table in tables.tables])
    except NoSuchTableError:  # it has not begun
        return None
    try:
        previous = stored_statement(name, bases)
        if previous is not None:
            next_range(name, previous, changelog, max_changes=MAX_CHANGES)
    except MirrorRefused as refused:
        return CutOff("mirror", name, refused.message, refused.remedy)
    return None


def _follower(catalog: LakeCatalog, declarations: Declarations, derived: Derived, table: Table) -> CutOff | None:
    head, derived_table = head_of(table), _loaded(catalog, derived.name)
    if head is None or derived_table is None or derived.follows is None:
        return None
    name = derived.inputs[derived.follows]
    followed = Input(
        argument=derived.follows,
        name=name,
        table=table,
        snapshot_id=head,
        dated=False,
        external=name not in declarations.derived,
        seal=made(table, head).seal,
    )
    try:
        next_increment(derived.name, Base.of(derived_table), followed, rebuild=False)
    except HistoryLost as lost:
        return CutOff("incremental", derived.name, lost.message, lost.remedy)
    return None


def _releases(catalog: LakeCatalog, declarations: Declarations, table: Table) -> Iterator[CutOff]:
    name = table_name(table)
    for group in declarations.releases.values():
        now = _pointed_to(catalog, group, table)
        if now is None or name not in now.tables:
            continue
        for release_id in dict.fromkeys((now.current, *now.kept)):
            try:
                opened = open_release(catalog, group.name, release_id)
                if name in opened.tables:
                    opened.table(name)
            except (ReleaseGone, ReleaseUnknown, TagMoved) as error:
                yield CutOff("release", release_id, error.message, error.remedy)


def _pointed_to(catalog: LakeCatalog, group: Release, table: Table) -> PointerStatement | None:
    """What a group's pointer says; None where there is no release, or no word to believe and no concern of the table's.

    Raises:
        SealBroken, PointerDamaged, MetadataFileDamaged: nobody can say what is released, and the table is a member, or
            once was one.
    """
    try:
        pointer = _loaded(catalog, group.pointer)
        return read_pointer(pointer).statement if pointer is not None else None
    except (SealBroken, PointerDamaged, MetadataFileDamaged):
        if _is_concerned(group, table):
            raise
        return None


def _is_concerned(group: Release, table: Table) -> bool:
    """Whether a table is a member by the declaration, or by a tag that is left; or is the pointer itself."""
    named = table_name(table) in (*group.members, group.pointer)
    return named or any(is_tag_of(ref, group.name) for ref in table.metadata.refs)


def newly_cut_off(before: tuple[CutOff, ...], after: tuple[CutOff, ...]) -> tuple[CutOff, ...]:
    """Who could read on before and cannot any more."""
    could_not: Mapping[str, CutOff] = {consumer.name: consumer for consumer in before}
    return tuple(consumer for consumer in after if consumer.name not in could_not)
