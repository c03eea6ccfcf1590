"""Is everything that a table was computed from of one vintage?

A table that is reached in two ways (a diamond) has to be the same in both. The ways are those that the seals name, up
to the tables that nobody computes; metadata alone is read, and of each table once. A table whose parts were computed
from different snapshots is reached in as many ways by itself. In another catalog the ways go on by what the seals there
name, as far as that catalog shows it; what is not told there is told by its own lakehouse, or by nobody.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

from pyiceberg.exceptions import ForbiddenError, NoSuchTableError
from pyiceberg.table import Table

from lakehouse.iceberg.names import in_catalog, is_elsewhere, split_catalog
from lakehouse.proofs.lineage.content import ContentChange, compare
from lakehouse.proofs.lineage.origins import follows_in, origins_of
from lakehouse.proofs.lineage.sealed import made
from lakehouse.proofs.lineage.snapshot_path import SnapshotPath
from lakehouse.protocol.errors import SealBroken
from lakehouse.protocol.seals.seal import Seal


@dataclass(frozen=True)
class VintageDifference:
    """A table that was read at several contents.

    Args:
        contents: the readings of each content, the oldest content first.
    """

    contents: tuple[tuple[SnapshotPath, ...], ...]

    @property
    def ancestor(self) -> str:
        """The table that all ways lead to."""
        return self.contents[0][0].table

    @property
    def paths(self) -> dict[str, list[str]]:
        """Content, by a snapshot that has it → the ways on which it is read: `a ← b ← c`."""
        return {
            f"snapshot {group[-1].snapshot_id}": [reading.path_text for reading in group] for group in self.contents
        }

    @property
    def rebuild(self) -> bool:
        """Whether incremental tables among those have to be computed from all rows."""
        return any(reading.rebuild for group in self.contents[:-1] for reading in group)

    @property
    def outdated(self) -> tuple[str, ...]:
        """Tables that have to be computed anew to agree with the newest content, each after its inputs."""
        older = (reading for group in self.contents[:-1] for reading in group)
        return tuple(dict.fromkeys(name for reading in older for name in reversed(reading.path[:-1])))

    def older_parts(self, table: str) -> tuple[str, ...]:
        """The parts of one table that were computed from an older content, in words."""
        older = (reading for group in self.contents[:-1] for reading in group)
        parts = (
            part for reading in older for name, part in zip(reading.path, reading.parts, strict=False) if name == table
        )
        return tuple(dict.fromkeys(filter(None, parts)))

    def __str__(self) -> str:
        """One sentence."""
        ways = "; but ".join(str(reading) for group in self.contents for reading in group[:1])
        return f"{self.ancestor} was read in {len(self.contents)} versions: {ways}."


@dataclass(frozen=True)
class Undecided:
    """Something that nobody can tell any more."""

    path: tuple[str, ...]
    reason: str

    def __str__(self) -> str:
        """One sentence."""
        return f"{' ← '.join(self.path)}: {self.reason}."


@dataclass(frozen=True)
class Vintage:
    """Whether all ways to each ancestor name the same content.

    Args:
        readings: every snapshot that was read, on the way from the tables asked about; those come first.
        broken: seals on the way that were changed after they were written.
    """

    readings: tuple[SnapshotPath, ...] = ()
    differences: tuple[VintageDifference, ...] = ()
    undecided: tuple[Undecided, ...] = ()
    broken: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether it is proven that everything is of one vintage."""
        return not self.differences and not self.undecided and not self.broken

    @property
    def rebuild(self) -> bool:
        """Whether a repair has to compute incremental tables from all rows."""
        return any(difference.rebuild for difference in self.differences)


def check_vintage(load: Callable[[str], Table], heads: Mapping[str, int]) -> Vintage:
    """Walk everything that some tables were computed from, and compare what was read of each ancestor.

    Args:
        load: gives a table by its name; asked once for each.
        heads: the tables that are asked about (and themselves compared), and the snapshot of each.
    """
    loaded = cache(load)
    readings: dict[tuple[str, int], SnapshotPath] = {}
    undecided: list[Undecided] = []
    broken: list[str] = []
    queue = deque(SnapshotPath((name,), snapshot_id) for name, snapshot_id in heads.items())
    while queue:
        reading = queue.popleft()
        node = reading.table, reading.snapshot_id
        if node in readings:  # whatever is above it was looked at from there
            continue
        readings[node] = reading
        try:
            table = loaded(reading.table)
            step = made(table, reading.snapshot_id)
        except NoSuchTableError:
            undecided.append(Undecided(reading.path, f"{reading.table} does not exist any more"))
            continue
        except ForbiddenError:
            if not is_elsewhere(reading.table):
                raise
            continue
        except SealBroken as changed:
            broken.append(changed.message)
            continue
        readings[node] = _described(reading, table, step.seal)
        if not step.known and not is_elsewhere(reading.table):
            reason = f"of snapshot {reading.snapshot_id} of {reading.table} nobody can say what it was computed from"
            undecided.append(Undecided(reading.path, f"{reason}: its entry, or that of its seal, has expired"))
        for parent in _read_by(readings[node]):
            if isinstance(parent, Undecided):
                undecided.append(parent)
            else:
                queue.append(parent)
    every = tuple(readings.values())
    differences, unknown = _compared(every, loaded)
    return Vintage(every, differences, (*undecided, *unknown), tuple(broken))


def _read_by(reading: SnapshotPath) -> Iterator[SnapshotPath | Undecided]:
    """What a table was computed from, each part of it from its own inputs."""
    origins = origins_of(reading.seal)
    follows = follows_in(reading.seal.statement) if reading.seal else ""
    catalog = split_catalog(reading.table)[0]
    for origin in origins:
        part = origin.among(origins)
        if part and not origin.inputs:
            reason = (
                f"{part} of {reading.table} were computed from versions of its inputs that can no longer be told apart "
                "(a run of the whole table mends that)"
            )
            yield Undecided(reading.path, reason)
        for name, snapshot_id in origin.inputs.items():
            if catalog and is_elsewhere(name):  # of a third catalog, whose name there is not known here
                continue
            yield SnapshotPath(
                (*reading.path, in_catalog(catalog, name)),
                snapshot_id,
                parts=(*reading.parts, part),
                rebuild=reading.rebuild or bool(follows and name != follows),
            )


def _described(reading: SnapshotPath, table: Table, seal: Seal | None) -> SnapshotPath:
    snapshot = table.metadata.snapshot_by_id(reading.snapshot_id)
    return replace(reading, written_ms=snapshot.timestamp_ms if snapshot else 0, seal=seal)


def _compared(
    readings: tuple[SnapshotPath, ...], loaded: Callable[[str], Table]
) -> tuple[tuple[VintageDifference, ...], tuple[Undecided, ...]]:
    by_table: dict[str, list[SnapshotPath]] = {}
    for reading in readings:
        by_table.setdefault(reading.table, []).append(reading)
    differences: list[VintageDifference] = []
    undecided: list[Undecided] = []
    for name, group in by_table.items():
        if len(group) == 1:
            continue
        try:
            table = loaded(name)
        except NoSuchTableError:  # told already
            continue
        except ForbiddenError:
            reason = f"{name} is read at several snapshots, and its catalog does not show it"
            undecided.append(Undecided(group[0].path, reason))
            continue
        contents, unknown = _grouped(table, sorted(group, key=lambda reading: reading.written_ms))
        undecided += unknown
        if len(contents) > 1:
            differences.append(VintageDifference(contents))
    return tuple(differences), tuple(undecided)


def _grouped(
    table: Table, readings: list[SnapshotPath]
) -> tuple[tuple[tuple[SnapshotPath, ...], ...], list[Undecided]]:
    """Put readings of one content together; those that cannot be compared are told apart."""
    contents: list[list[SnapshotPath]] = []
    undecided: list[Undecided] = []
    for reading in readings:
        changes = [compare(table, group[0].snapshot_id, reading.snapshot_id) for group in contents]
        if ContentChange.SAME in changes:
            contents[changes.index(ContentChange.SAME)].append(reading)
        elif ContentChange.UNKNOWN in changes:
            representative = contents[changes.index(ContentChange.UNKNOWN)][0]
            reason = (
                f"{reading.table} is read at snapshot {reading.snapshot_id}, and by {representative.path_text} at "
                f"snapshot {representative.snapshot_id}; entries that would tell whether they are the same have expired"
            )
            undecided.append(Undecided(reading.path, reason))
        else:
            contents.append([reading])
    return tuple(tuple(group) for group in contents), undecided
