"""When a mirror does not go ahead: what is wrong with which table and snapshot, and what to do. Nothing was changed."""

from collections.abc import Mapping, Sequence

from lakehouse.errors import LakehouseError


class MirrorRefused(LakehouseError):
    """Mirror and changelog do not fit together; the other mirrors go on."""


def _rebuild(mirror: str) -> str:
    return f"`lakehouse rebuild {mirror} --yes`, which folds the whole changelog"


class NoChangelog(MirrorRefused):
    """The changelog's table is not there."""

    def __init__(self, mirror: str, changelog: str) -> None:
        super().__init__(
            f"Mirror {mirror}: there is no table {changelog}.", remedy="`lakehouse apply`, then let its stream run"
        )


class ChangelogReplaced(MirrorRefused):
    """Another table has the changelog's name now."""

    def __init__(self, mirror: str, changelog: str, was: str, now: str) -> None:
        super().__init__(
            f"Mirror {mirror}: {changelog} was dropped and created anew (uuid {was} became {now}), so nobody can say "
            "which of its changes are in the mirror.",
            remedy=_rebuild(mirror),
        )


class RangeExpired(MirrorRefused):
    """Snapshots that were not applied yet are no longer listed."""

    def __init__(self, mirror: str, changelog: str, start: int, oldest: int | None) -> None:
        super().__init__(
            f"Mirror {mirror}: it stands at snapshot {start} of {changelog}, and the history of {changelog} goes back "
            f"to {oldest} only: changes in between may be missed.",
            remedy=f"do not expire snapshots that are newer than a tag lakehouse_lease_…; now {_rebuild(mirror)}",
        )


class ChangelogRolledBack(MirrorRefused):
    """Changes that are in the mirror are not in the changelog any more."""

    def __init__(self, mirror: str, changelog: str, start: int, head: int | None) -> None:
        super().__init__(
            f"Mirror {mirror}: it stands at snapshot {start} of {changelog}, which is not in its main any more (now at "
            f"{head}): {changelog} was rolled back to before it.",
            remedy=f"roll {changelog} forward, or the mirror's tables back to a run before it, or {_rebuild(mirror)}",
        )


class ForeignChange(MirrorRefused):
    """Somebody removed or replaced rows of the changelog, which is append-only."""

    def __init__(self, mirror: str, changelog: str, snapshot_id: int, operation: str) -> None:
        super().__init__(
            f"Mirror {mirror}: snapshot {snapshot_id} of {changelog} is a '{operation}': it removed rows, and reading "
            "what was appended would miss that.",
            remedy=f"find out who wrote it (`lakehouse audit`); if it stands, {_rebuild(mirror)}",
        )


class ChangesRetired(ForeignChange):
    """Retention removed changes that the mirror, as it stands now, has not applied."""

    def __init__(self, mirror: str, changelog: str, snapshot_id: int) -> None:
        MirrorRefused.__init__(
            self,
            f"Mirror {mirror}: snapshot {snapshot_id} of {changelog} is a retirement of changes that are not in it, as "
            "it stands now: its tables were rolled back to before them.",
            remedy="roll all three tables of the mirror forward to the run from before they were rolled back; "
            f"`lakehouse rebuild {mirror}` refuses without those changes",
        )


class FilesGone(MirrorRefused):
    """Files of changes that were not applied yet are not in storage any more."""

    def __init__(self, mirror: str, changelog: str, snapshot_id: int, files: Sequence[str]) -> None:
        super().__init__(
            f"Mirror {mirror}: {len(files)} files that snapshot {snapshot_id} added to {changelog} are gone from "
            f"storage (for example {files[0]}), though the mirror has not read them.",
            remedy=f"restore them; if a compaction holds their rows, {_rebuild(mirror)}",
        )


class ChangesDiffer(MirrorRefused):
    """Fewer or more changes were read than the changelog's snapshots say."""

    def __init__(self, mirror: str, changelog: str, snapshot_id: int, expected: int, actual: int) -> None:
        super().__init__(
            f"Mirror {mirror}: {actual} changes were read of {changelog} up to snapshot {snapshot_id}, and its "
            f"snapshots say {expected}.",
            remedy="`lakehouse audit` shows whether the changelog was tampered with",
        )


class WithoutPosition(MirrorRefused):
    """Changes without a position in the source's order cannot be folded."""

    def __init__(self, mirror: str, changelog: str, snapshot_id: int, changes: int) -> None:
        super().__init__(
            f"Mirror {mirror}: {changes} changes of {changelog} up to snapshot {snapshot_id} have no position.",
            remedy="the ingest puts such messages into quarantine: find out who wrote these rows (`lakehouse audit`)",
        )


class WithoutKey(MirrorRefused):
    """Changes from before the changelog's key was declared do not say which row they are of."""

    def __init__(self, mirror: str, changelog: str, snapshot_id: int, changes: int) -> None:
        super().__init__(
            f"Mirror {mirror}: {changes} changes of {changelog} up to snapshot {snapshot_id} have no key: they came "
            "before one was declared.",
            remedy="let the source send a new snapshot to another changelog, declared with the key, and follow that",
        )


class ChangelogUnsealed(MirrorRefused):
    """The changelog holds rows, and no seal of an ingest says up to where they are whole."""

    def __init__(self, mirror: str, changelog: str) -> None:
        super().__init__(
            f"Mirror {mirror}: {changelog} holds rows, and none of its listed snapshots carries the seal of an ingest.",
            remedy="let its stream run, or `lakehouse adopt` it",
        )


class MirrorWithoutSeal(MirrorRefused):
    """A table of the mirror holds rows, and nothing says which changes they are."""

    def __init__(self, mirror: str, tables: Sequence[str]) -> None:
        super().__init__(
            f"Mirror {mirror}: {', '.join(tables)} hold rows without a seal, so nobody knows which changes they are.",
            remedy=f"{_rebuild(mirror)}; to begin with rows that you have, declare their table as `initial`",
        )


class StatementsDiffer(MirrorRefused):
    """The mirror's tables do not tell the same: one was rolled back, emptied or created anew alone."""

    def __init__(self, mirror: str, statements: Mapping[str, str]) -> None:
        shown = "; ".join(f"{name}: {statement}" for name, statement in sorted(statements.items()))
        super().__init__(
            f"Mirror {mirror}: its tables stand at different places ({shown}).",
            remedy=f"roll the others back to the same run, or this one forward, or {_rebuild(mirror)}",
        )


class MirrorWrittenTo(MirrorRefused):
    """Somebody wrote to a table of the mirror outside the protocol."""

    def __init__(self, mirror: str, snapshot_ids: Mapping[str, Sequence[int]]) -> None:
        shown = "; ".join(f"{name}: snapshot {', '.join(map(str, ids))}" for name, ids in sorted(snapshot_ids.items()))
        super().__init__(
            f"Mirror {mirror}: somebody wrote to its tables after the last seal ({shown}).",
            remedy=f"roll them back to the seal, or {_rebuild(mirror)}",
        )


class MirrorRelisted(MirrorRefused):
    """Somebody lists files of the mirror otherwise than they were, so that a MERGE may miss rows that it replaces."""

    def __init__(self, mirror: str, table: str, snapshot_id: int, difference: str) -> None:
        super().__init__(
            f"Mirror {mirror}: snapshot {snapshot_id} of {table}, a rewrite from outside the protocol, changed what "
            f"readers find: {difference}.",
            remedy=f"roll {table} back to the snapshot before it, or {_rebuild(mirror)}",
        )


class OtherChangelog(MirrorRefused):
    """The mirror was built from another changelog than it is declared to follow."""

    def __init__(self, mirror: str, was: str, now: str) -> None:
        super().__init__(
            f"Mirror {mirror}: it was built from {was}, and is declared to follow {now}.", remedy=_rebuild(mirror)
        )


class HistoryIncomplete(MirrorRefused):
    """A build needs every change since the beginning, and the changelog has not all of them."""

    def __init__(self, mirror: str, changelog: str, why: str) -> None:
        super().__init__(
            f"Mirror {mirror} cannot be built: {changelog} does not hold every change since its beginning ({why}).",
            remedy="restore the changelog; or let the source send a new snapshot to another changelog, and declare a "
            "mirror that begins with a copy of this one (`initial`)",
        )


class InitialGone(MirrorRefused):
    """The rows that the mirror begins with cannot be read."""

    def __init__(self, mirror: str, initial: str, why: str) -> None:
        super().__init__(
            f"Mirror {mirror}: the rows of {initial}, with which it begins, cannot be read: {why}.",
            remedy="restore that table (and snapshot), or take `initial` out of the declaration",
        )


class ColumnsDiffer(MirrorRefused):
    """The source's columns became something that the mirror cannot take over."""

    def __init__(self, mirror: str, differences: Sequence[str], remedy: str = "") -> None:
        super().__init__(
            f"Mirror {mirror}: {'; '.join(differences)}. Columns that are added or widened are taken over, and nothing "
            "else.",
            remedy=remedy or "declare the columns as the tables have them, or begin another mirror",
        )


class Unparsed(MirrorRefused):
    """Values that came before their column was declared cannot be read as what it is declared to be."""

    def __init__(self, mirror: str, columns: Mapping[str, int]) -> None:
        shown = ", ".join(f"'{name}' ({count} changes)" for name, count in sorted(columns.items()))
        super().__init__(
            f"Mirror {mirror}: the changelog holds values from before their column was declared which cannot be read "
            f"as the type it is declared with: {shown}.",
            remedy="declare such a column as string, a number or boolean, as the messages have it, or under another "
            "name; values from before the declaration are taken over for these types only",
        )


class MergeDiffers(MirrorRefused):
    """The MERGE did not do what the changes ask for, so what was written is not published."""

    def __init__(self, mirror: str, predicted: Mapping[str, int], actual: Mapping[str, int], branch: str) -> None:
        shown = ", ".join(f"{name} {actual.get(name, 0)} in place of {rows}" for name, rows in predicted.items())
        super().__init__(
            f"Mirror {mirror}: writing did not do what was planned ({shown}); nothing was published. A key may be in "
            "the mirror twice.",
            remedy=f"look at branch {branch} and at the check unique_key; then {_rebuild(mirror)}",
        )
