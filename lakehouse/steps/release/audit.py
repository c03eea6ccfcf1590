"""What can be proven of releases from outside: tags, pointer and record agree, and a release is of one vintage."""

import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from pyiceberg.table import Table
from pyiceberg.table.refs import SnapshotRefType
from tenacity import retry_if_result

from lakehouse.declarations import Release
from lakehouse.iceberg.names import identifier_of, table_name
from lakehouse.proofs.audit import Finding, FindingsDecide
from lakehouse.proofs.lineage.vintage import Vintage, check_vintage
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.catalog.change import FOREVER_MS
from lakehouse.protocol.damage.attempted import Attempted
from lakehouse.protocol.errors import SealBroken
from lakehouse.protocol.seals.history import head_of, seals
from lakehouse.protocol.seals.lost_main import lost_main
from lakehouse.protocol.seals.partial_group import read_partial_group
from lakehouse.retry import retrying
from lakehouse.steps.release.errors import PointerDamaged
from lakehouse.steps.release.names import tag_of
from lakehouse.steps.release.pointer import Pointer, moves, read_pointer
from lakehouse.steps.release.statement import KIND_RELEASE, PointerStatement, ReleaseMember
from lakehouse.steps.release.tags.current_tag import astray

_TRIES = 5
_MAX_AGE = "history.expire.max-ref-age-ms"


@dataclass(frozen=True)
class ReleaseProof(FindingsDecide):
    """The proof of one group.

    Args:
        group: its name.
        current: the release that readers get; empty if there is none yet.
        tables: its members.
        runtime_date: of its dated members.
        kept: how many releases are readable.
        findings: every broken promise.
        undecided: what was of one vintage when it was released, and nobody can tell any more.
        errors: what kept a part of the proof from being carried out.
    """

    group: str
    current: str = ""
    tables: int = 0
    runtime_date: str = ""
    kept: int = 0
    findings: tuple[Finding, ...] = ()
    undecided: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    seconds: float = 0.0


def audit_release(catalog: LakeCatalog, release: Release) -> ReleaseProof:
    """Prove that the current release is whole and of one vintage, and that all kept ones are readable.

    Raises:
        NoSuchTableError: the pointer's table does not exist.
    """

    def overtaken(looked: tuple[ReleaseProof, int | None]) -> bool:
        # Tags are dropped once the pointer has moved on, so a finding counts only while it is where it was.
        proof, looked_at = looked
        return not proof.holds and looked_at != head_of(catalog.load_table(release.table.identifier))

    proof, _ = retrying(_TRIES, retry_if_result(overtaken))(_proof, catalog, release)
    return proof


def _proof(catalog: LakeCatalog, release: Release) -> tuple[ReleaseProof, int | None]:
    """The proof, and the snapshot of the pointer that it is about."""
    began = time.monotonic()
    table = catalog.load_table(release.table.identifier)
    head = head_of(table)
    if lost := lost_main(table):
        return ReleaseProof(release.name, findings=(Finding("no_main", lost, release.pointer),)), head
    try:
        for _ in seals(table, head):  # each is verified on the way
            pass
        pointer = read_pointer(table)
    except (SealBroken, PointerDamaged) as broken:
        return ReleaseProof(release.name, findings=(Finding("pointer", broken.message, release.pointer),)), head
    now = pointer.statement
    if now is None:
        return ReleaseProof(release.name), head
    attempted = Attempted()
    record = attempted.part(f"the record of {release.name}", [(table, head)], lambda: list(_record(pointer, now)), [])
    loaded = read_partial_group(catalog, sorted({*now.tables, *(member.table for member in now.members)}))
    members = {name: pinned.table for name, pinned in loaded.tables.items()}
    snapshots = {member.table: member.snapshot_id for member in now.members if member.table in members}
    read_vintage = partial(check_vintage, lambda name: catalog.load_table(identifier_of(name)), snapshots)
    vintage = attempted.part(f"the vintage of {release.name}", [], read_vintage, Vintage())
    unreadable = {damage.table for damage in loaded.damages}
    find_tags = partial(_kept_tags, pointer, now, members, unreadable)
    tags = attempted.part(f"the tags of {release.name}", [(table, head)], find_tags, [])
    damages = [*loaded.damages, *(damage for damage in attempted.damages if damage.lost)]
    lost = dict.fromkeys(map(Finding.of, damages))
    proof = ReleaseProof(
        group=release.name,
        current=now.current,
        tables=len(now.members),
        runtime_date=next((member.runtime_date for member in now.members if member.runtime_date), ""),
        kept=len(now.kept),
        findings=(*record, *tags, *astray(release.name, now, members), *_agreement(now, vintage), *lost),
        undecided=tuple(map(str, vintage.undecided)),
        errors=tuple(attempted.errors),
        seconds=round(time.monotonic() - began, 3),
    )
    return proof, head


def _record(pointer: Pointer, now: PointerStatement) -> Iterator[Finding]:
    """The pointer against its own rows."""
    name = pointer.base.name
    for snapshot in pointer.base.unsealed:
        yield Finding("unsealed_commit", f"{name}: nobody sealed snapshot {snapshot.snapshot_id}.", name)
    newest = next(iter(moves(pointer.base.table)), None)
    if newest is None or (newest.id, newest.members) != (now.current, now.members):
        message = (
            f"{name}: its newest row names {newest.id if newest else 'nothing'}, and its newest seal {now.current}."
        )
        yield Finding("pointer", message, name)


def _kept_tags(
    pointer: Pointer, now: PointerStatement, tables: Mapping[str, Table], unreadable: Collection[str]
) -> list[Finding]:
    return [finding for finding in _tags(pointer, now, tables) if finding.table not in unreadable]


def _tags(pointer: Pointer, now: PointerStatement, tables: Mapping[str, Table]) -> Iterator[Finding]:
    """The tags of every release that should be readable against what was recorded of it."""
    by_release = {move.id: move.members for move in moves(pointer.base.table) if move.kind == KIND_RELEASE}
    for release_id in dict.fromkeys((now.current, *now.kept)):
        members = now.members if release_id == now.current else by_release.get(release_id)
        if members is None:
            message = f"{pointer.base.name}: {release_id} is kept, and no row records it."
            yield Finding("pointer", message, pointer.base.name)
        for member in members or ():
            if (finding := _tag(release_id, member, tables.get(member.table))) is not None:
                yield finding


def _tag(release_id: str, member: ReleaseMember, table: Table | None) -> Finding | None:
    tag = tag_of(release_id)
    if table is None or str(table.metadata.table_uuid) != member.uuid:
        fate = "was dropped" if table is None else "was dropped and created anew"
        return Finding("member_replaced", f"{member.table} {fate} after {release_id} was made.", member.table)
    tagged_snapshot = head_of(table, tag)
    if tagged_snapshot == member.snapshot_id:
        return _passing(tag, table)
    if tagged_snapshot is None:
        return Finding("tag_missing", f"{member.table} has no tag {tag}.", member.table)
    message = f"{member.table}: the tag {tag} names snapshot {tagged_snapshot}, and {member.snapshot_id} was released."
    return Finding("tag_moved", message, member.table)


def _passing(tag: str, table: Table) -> Finding | None:
    """A reference that names what was released, and need not go on doing so: a branch, or a tag of a limited age."""
    name, ref = table_name(table), table.metadata.refs[tag]
    remedy = f"Remedy: drop it, and set it again as a tag on snapshot {ref.snapshot_id}, without `RETAIN`."
    if ref.snapshot_ref_type != SnapshotRefType.TAG:
        return Finding("tag_replaced", f"{name}: {tag} is a branch, which any write moves. {remedy}", name)
    if ref.max_ref_age_ms is None and _MAX_AGE in table.properties:
        age, remedy = table.properties[_MAX_AGE], f"Remedy: unset {_MAX_AGE} of the table."
    else:
        age = str(ref.max_ref_age_ms or FOREVER_MS)
    if age == str(FOREVER_MS):
        return None
    message = f"{name}: the tag {tag} ends at an age of {age} ms, though the release is kept. {remedy}"
    return Finding("tag_expires", message, name)


def _agreement(now: PointerStatement, vintage: Vintage) -> Iterator[Finding]:
    """Dates and vintage of the current release, from the seals at what was released."""
    recorded = {member.table: member.runtime_date for member in now.members if member.runtime_date}
    sealed = {
        reading.table: reading.seal.runtime_date
        for reading in vintage.readings
        if len(reading.path) == 1 and reading.table in recorded and reading.seal is not None
    }
    if len({*recorded.values(), *sealed.values()}) > 1:
        dates = "; ".join(f"{name}: {date}" for name, date in sorted((recorded | sealed).items()))
        yield Finding("dates_differ", f"{now.current} holds more than one runtime date ({dates}).")
    for difference in vintage.differences:
        yield Finding("vintages_differ", f"{now.current}: {difference}", difference.ancestor)
    for broken in vintage.broken:
        yield Finding("seal_edited", f"{now.current}: {broken}")
