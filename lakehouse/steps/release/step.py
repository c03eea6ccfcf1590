"""A release from begin to end: look, judge, tag, move the pointer, and let go of what is no longer kept.

The order is the promise: tags before the pointer, so a reader never finds a member untagged; nothing dropped before the
pointer has moved. Killed in between, a release has tags and no pointer: the next try of the same root run completes it,
any other makes its own and drops those tags.
"""

import time
from collections.abc import Callable, Mapping
from functools import cache

from pyiceberg.exceptions import CommitFailedException, NoSuchTableError
from pyiceberg.table import Table

from lakehouse.iceberg.names import identifier_of, table_name
from lakehouse.proofs.lineage.vintage import check_vintage
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.failpoints import failpoint
from lakehouse.protocol.seals.history import head_of
from lakehouse.protocol.seals.load_group import load_together
from lakehouse.quantities import quantity
from lakehouse.steps.release.candidates import Candidate, candidates, changes
from lakehouse.steps.release.content import ReleaseContent, begun_before
from lakehouse.steps.release.gate.judged_references import accepted
from lakehouse.steps.release.gate.judgement import held_by, mixed
from lakehouse.steps.release.gate.results import Reason, ReleaseHeld, judged_by
from lakehouse.steps.release.gate.rewrites import rewrite_reasons
from lakehouse.steps.release.names import made_by, new_id
from lakehouse.steps.release.pointer import Pointer, PointerRow, move_pointer, read_pointer
from lakehouse.steps.release.release_step import Outcome, Released, ReleaseStep
from lakehouse.steps.release.statement import KIND_RELEASE, PointerStatement
from lakehouse.steps.release.tags.current_tag import changes as tag_changes
from lakehouse.steps.release.tags.current_tag import follow_pointer
from lakehouse.steps.release.tags.release_tags import drop_tags, set_tags, tags_of


def release(step: ReleaseStep) -> Released:
    """Release the members of a group, if they are fit for it and anything is new.

    Raises:
        ReleaseHeld: they are not; every reason is named, and the pointer stays where it is.
        Superseded: somebody else moved the pointer meanwhile.
        TagRefused: a member was replaced meanwhile, or its tag is taken.
        SealBroken: a seal was changed after it was written.
    """
    began = time.monotonic()
    tables, pointer = _look(step)
    load = cache(_loader(step.catalog, tables))
    if (begun := begun_before(tables, step.dated, step.release.name, _root(step), pointer.statement)) is not None:
        # What it has judged may have been judged again since.
        above = check_vintage(load, begun.snapshots).readings
        judged_elsewhere = accepted(step.checks, begun.candidates, above, load)
        if reasons := held_by(begun.candidates, step.checks, judged_elsewhere, step.remedies):
            raise ReleaseHeld(step.release.name, reasons)
        _require_same_rows(step, tables, begun.snapshots, pointer)
        step.inform(f"completing release {begun.id}, which an earlier try of this run has tagged")
        return _move(step, pointer, begun, outcome="completed", began=began)
    judged = judged_by(step.checks)
    dated = {name: head_of(table) for name, table in tables.items() if name in step.dated}
    heads = {name: head for name, head in dated.items() if head is not None}
    by_name = candidates(tables, step.dated, judged, check_vintage(load, heads).readings)
    if (idle := _nothing_new(step, pointer, by_name)) is not None:
        if pointer.statement and any(tag_changes(step.release.name, pointer.statement, tables)):
            _follow(step)
        return idle
    snapshots = {name: candidate.choose(judged.get(name, ())) for name, candidate in by_name.items() if candidate.same}
    vintage = check_vintage(load, snapshots)
    accepted_snapshots = accepted(step.checks, by_name, vintage.readings, load)
    reasons = held_by(by_name, step.checks, accepted_snapshots, step.remedies)
    if reasons := [*reasons, *mixed(vintage, step.remedies)]:
        raise ReleaseHeld(step.release.name, reasons)
    _require_same_rows(step, tables, snapshots, pointer)
    newest = pointer.statement.newest if pointer.statement else ""
    content = ReleaseContent(new_id(step.release.name, _root(step), after=newest), by_name, snapshots)
    step.inform(f"tagging {quantity(len(content.members), 'table')} for release {content.id}")
    failpoint("release.judged")
    set_tags(step.catalog, content.id, content.members)
    failpoint("release.tagged")
    return _move(step, pointer, content, outcome="released", began=began)


def _look(step: ReleaseStep) -> tuple[dict[str, Table], Pointer]:
    """Members and pointer as they were at one moment."""
    names = step.release.members
    try:
        tables = load_together(step.catalog, [*names, step.release.pointer])
    except NoSuchTableError:
        existing = {name for name in names if step.catalog.table_exists(identifier_of(name))}
        missing = [name for name in names if name not in existing]
        if not missing:
            raise
        make = [Reason(name, "it does not exist", f"materialize it: {step.remedies.first(name)}") for name in missing]
        raise ReleaseHeld(step.release.name, make) from None
    return {name: tables[name] for name in names}, read_pointer(tables[step.release.pointer])


def _require_same_rows(
    step: ReleaseStep, tables: Mapping[str, Table], snapshots: Mapping[str, int], pointer: Pointer
) -> None:
    """After everything else: to compare rows may mean to read them."""
    released = pointer.statement.newest_members if pointer.statement else ()
    if reasons := rewrite_reasons(tables, snapshots, released, step.find_changed_rows, step.remedies):
        raise ReleaseHeld(step.release.name, reasons)


def _loader(catalog: LakeCatalog, tables: Mapping[str, Table]) -> Callable[[str], Table]:
    """Loads what the members were computed from; the members as they were looked at."""
    return lambda name: tables[name] if name in tables else catalog.load_table(identifier_of(name))


def _root(step: ReleaseStep) -> str:
    return step.attempt.root_run_id or step.attempt.run_id


def _nothing_new(step: ReleaseStep, pointer: Pointer, by_name: Mapping[str, Candidate]) -> Released | None:
    """Whether the members are what the newest release holds; also if that was taken back since."""
    now = pointer.statement
    if now is None or changes(now.newest_members, by_name):
        return None
    note = f"No member has changed since release {now.newest}."
    if now.rolled_back:
        note = f"{note} It was taken back, and {now.current} is current; a release needs a member that is new."
    return Released(
        outcome="already" if made_by(now.current, _root(step)) and not now.rolled_back else "unchanged",
        id=now.current,
        members=now.members,
        previous=None,
        parameters=ReleaseContent(now.current, by_name, {}).parameters[1],
        pointer=pointer.base.snapshot_id,
        note=note,
    )


def _move(step: ReleaseStep, pointer: Pointer, content: ReleaseContent, *, outcome: Outcome, began: float) -> Released:
    """Move the pointer to a release whose tags are set, then drop what is not kept any more."""
    before, moved_at = pointer.statement, pointer.next_move()
    statement = PointerStatement(
        current=content.id,
        members=content.members,
        kept=_kept(content.id, before, step.release.keep),
        tables=tuple(sorted({*step.release.members, *_former_members(step, before)})),
        newest=content.id,
        newest_members=content.members,
        moved_ms=int(moved_at.timestamp() * 1000),
    )
    digest, parameters = content.parameters
    move = PointerRow(
        id=content.id,
        kind=KIND_RELEASE,
        timestamp=moved_at,
        members=content.members,
        runtime_date=next((member.runtime_date for member in content.members if member.runtime_date), ""),
        parameters_digest=digest,
        parameters=parameters,
        run_id=step.attempt.run_id,
        root_run_id=_root(step),
        code_version=step.attempt.code_version,
        moved_by=f"run {step.attempt.run_id}",
        why=step.why,
    )
    sealed = move_pointer(step.catalog, pointer, step.attempt, statement, move)
    failpoint("release.moved")
    _follow(step)
    step.inform(f"release {content.id} is current")
    return Released(
        outcome=outcome,
        id=content.id,
        members=content.members,
        previous=before.current if before else None,
        changed=changes(before.members if before else (), content.candidates),
        parameters=parameters,
        pointer=sealed,
        dropped=tuple(_let_go(step, statement)),
        seconds=round(time.monotonic() - began, 3),
    )


def _kept(newest: str, before: PointerStatement | None, keep: int) -> tuple[str, ...]:
    """The releases that readers can still get, newest first: this one, what was current until now, then the newest."""
    former = before.kept if before else ()
    current = [release for release in former if before is not None and release == before.current]
    by_worth = dict.fromkeys((newest, *current, *sorted(former, reverse=True)))
    return tuple(sorted(list(by_worth)[:keep], reverse=True))


def _former_members(step: ReleaseStep, before: PointerStatement | None) -> list[str]:
    """Tables that are members no longer, and still carry a tag of this group."""
    former = [identifier_of(name) for name in (before.tables if before else ()) if name not in step.release.members]
    tables = [step.catalog.load_table(name) for name in former if step.catalog.table_exists(name)]
    return [table_name(table) for table in tables if tags_of(table, step.release.name)]


def _follow(step: ReleaseStep) -> None:
    try:
        follow_pointer(step.catalog, step.release.name)
    except CommitFailedException as busy:  # the release is made, and read by its own tag
        step.inform(f"the tag that names what is current stays behind until the next release: {busy}")


def _let_go(step: ReleaseStep, now: PointerStatement) -> list[str]:
    try:
        return drop_tags(step.catalog, step.release.name, now.tables, kept=now.kept, before=now.newest)
    except CommitFailedException as busy:  # the release is made; its successor looks after the rest
        step.inform(f"outdated tags stay until the next release: {busy}")
        return []
