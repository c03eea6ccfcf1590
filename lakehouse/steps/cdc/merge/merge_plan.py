"""Choose: how a delta gets into a mirror with the least that is written, decided before anything is.

Pure functions of what metadata and the delta say. Every condition in ON is a function of the key: a narrower one would
miss rows. Which rows are new is known from the look-up, so they need no MERGE: only this attempt can publish on this
base.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import msgspec
from pyiceberg import types as iceberg

from lakehouse.iceberg.spark_literals import ORDERED, literal
from lakehouse.steps.cdc.plan.file_pruning import FileFacts, Touched

Strategy = Literal["nothing", "append", "merge", "merge+append", "overwrite"]
Mode = Literal["copy-on-write", "merge-on-read"]
COPY: Mode = "copy-on-write"
DELETES: Mode = "merge-on-read"

# What a run may write of a table: so much, and the changed bytes so many times. A copy within that spares readers
# delete files.
_ALLOWED_BYTES = 64 << 10
_ALLOWED_TIMES = 2
# Once as many rows of a file are deleted as are left, a copy of these writes no more than was changed since the last
# one. Maintenance does it much earlier, where the table is ever quiet.
_MOST_DELETED = 0.5
# A reader opens every delete file, and the small file beside it that the same batch has left. By Iceberg's own measure
# (`read.split.open-file-cost`) that costs as much as reading so many bytes; a copy is due once it is such a share of
# all that is read, and they are many. A small table is read soon either way: there, writing little comes first.
_OPENING_BYTES = 4 << 20
_OPENING_SHARE = 0.3
_MANY_DELETE_FILES = 24
_SMALL_BYTES = 32 << 20
# One MERGE of new and known rows shuffles all that it looks at; beyond so much a second write is cheaper.
_SHUFFLED_ROWS = 200_000
_SHUFFLED_BYTES = 4 << 20
# What a file costs beyond its rows, and one position in a delete file.
_FILE_BYTES = 2_000
_POSITION_BYTES = 3
_MOST_VALUES = 200


class DeltaRows(msgspec.Struct, frozen=True):
    """Rows that a delta inserts, updates and deletes, in the table's sense."""

    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    @property
    def changed(self) -> int:
        """Rows that are there and change."""
        return self.updated + self.deleted

    def as_dict(self) -> dict[str, int]:
        """By name."""
        return {"inserted": self.inserted, "updated": self.updated, "deleted": self.deleted}


@dataclass(frozen=True)
class Narrowed:
    """The part of the mirror that the keys can be in.

    Args:
        files: those that may hold one of the keys.
        total: all files.
        literals: SQL about `t` alone: the mirror, or its ledger.
        words: the same for a reader, without any value.
    """

    files: Sequence[FileFacts]
    total: int
    literals: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    @property
    def pruning(self) -> tuple[str, ...]:
        """The literals, where they leave a file of the mirror out. Elsewhere they would only be compiled, each time."""
        return self.literals if len(self.files) < self.total else ()

    @property
    def rows(self) -> int:
        """Rows in these files, deleted ones included."""
        return sum(file.rows for file in self.files)

    @property
    def bytes(self) -> int:
        """Of these files."""
        return sum(file.bytes for file in self.files)

    @property
    def delete_files(self) -> int:
        """Delete files that a reader of these files opens: each file has one at most."""
        return sum(file.deleted > 0 for file in self.files)


@dataclass(frozen=True)
class MergePlan:
    """What the planner chose.

    Args:
        strategy: how the rows are written.
        mode: what a MERGE does with files that hold changed rows; None where there is no MERGE.
        predicted: what has to come of it.
        files: files that may be rewritten.
        rewritten: expected bytes written, by mode.
        literals: SQL for ON.
        reasons: why, in words.
        actual: what came of it.
    """

    strategy: Strategy
    mode: Mode | None
    predicted: DeltaRows
    files: int = 0
    of_files: int = 0
    rewritten: Mapping[str, int] = field(default_factory=dict[str, int])
    literals: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    actual: Mapping[str, int] = field(default_factory=dict[str, int])

    def because(self, *reasons: str) -> "MergePlan":
        """With more reasons, before its own."""
        return replace(self, reasons=(*reasons, *self.reasons))

    def to_json(self) -> str:
        """For the seal: no literal, which may be a value of a row."""
        document: dict[str, object] = {
            "strategy": self.strategy,
            "mode": self.mode or "",
            "why": list(self.reasons),
            "files": f"{self.files} of {self.of_files}",
            "predicted": self.predicted.as_dict(),
            "predicted_bytes": dict(self.rewritten),
            "actual": dict(self.actual),
        }
        return msgspec.json.encode(document).decode()


def narrow(files: Sequence[FileFacts], touched: Touched, types: Mapping[str, iceberg.IcebergType]) -> Narrowed:
    """Find the files that may hold one of the keys, and the conditions that tell Spark the same.

    Args:
        files: all of the mirror's.
        touched: where the keys lie.
        types: key column → its type in the table.
    """
    literals: list[str] = []
    words: list[str] = []
    for (column, transform), values in sorted(touched.parts.items()):
        if column in touched.nulls:
            continue
        if transform.startswith("bucket["):
            width = int(transform.removeprefix("bucket[").removesuffix("]"))
            if len(values) < width:
                numbers = ", ".join(str(value) for value in sorted(values))
                literals.append(f"lake.system.bucket({width}, t.`{column}`) IN ({numbers})")
                words.append(f"{len(values)} of {width} buckets of {column}")
        elif len(values) <= _MOST_VALUES and isinstance(types[column], ORDERED):
            shown = ", ".join(literal(value, types[column]) for value in sorted(values))
            literals.append(f"t.`{column}` IN ({shown})")
            words.append(f"{len(values)} values of {column}")
    for column, (low, high) in touched.bounds.items():
        if column not in touched.nulls:
            literals.append(f"t.`{column}` BETWEEN {literal(low, types[column])} AND {literal(high, types[column])}")
            words.append(f"a range of {column}")
    candidates = [file for file in files if file.may_hold(touched)]
    return Narrowed(candidates, len(files), tuple(literals), tuple(words))


def choose(narrowed: Narrowed, rows: DeltaRows, *, declared_mode: Mode | None = None) -> MergePlan:
    """Choose how to write a delta.

    Args:
        narrowed: the part of the mirror that its keys can be in.
        rows: what the delta does.
        declared_mode: always taken, where the declaration names one.
    """
    where = f"keys lie in {len(narrowed.files)} of {narrowed.total} files"
    if narrowed.pruning:
        where += f" ({', '.join(narrowed.words)})"
    expected = _bytes(narrowed, rows)
    plan = MergePlan("nothing", None, rows, len(narrowed.files), narrowed.total, expected, narrowed.pruning, (where,))
    if not rows.changed:
        if not rows.inserted:
            return replace(plan, reasons=("no row changes",), rewritten={})
        why = "no file can hold one of the keys" if not narrowed.files else "no row that is there changes"
        return replace(plan, strategy="append", files=0, reasons=(why,), rewritten={})
    mode, why = (declared_mode, f"{declared_mode}: declared") if declared_mode else _mode(narrowed, rows, expected)
    strategy, how = _strategy(narrowed, rows, copied=expected[COPY] if mode == COPY else 0)
    return replace(plan, strategy=strategy, mode=mode, reasons=(where, why, *how))


def replacing(rows: int, *reasons: str) -> MergePlan:
    """Everything is written anew."""
    return MergePlan("overwrite", None, DeltaRows(inserted=rows), reasons=reasons)


def _strategy(narrowed: Narrowed, rows: DeltaRows, *, copied: int) -> tuple[Strategy, tuple[str, ...]]:
    if not rows.inserted:
        return "merge", ()
    if copied <= _SHUFFLED_BYTES and narrowed.rows <= _SHUFFLED_ROWS:
        return "merge", ("new rows in the same write: fewer files",)
    return "merge+append", (f"{rows.inserted} new rows appended: {narrowed.rows} rows need no shuffle",)


def _mode(narrowed: Narrowed, rows: DeltaRows, expected: Mapping[str, int]) -> tuple[Mode, str]:
    row_count = max(1, narrowed.rows)
    changed, deleted = rows.changed / row_count, sum(file.deleted for file in narrowed.files) / row_count
    changed_bytes = round(rows.changed * _row_bytes(narrowed))
    if expected[COPY] <= _ALLOWED_BYTES + _ALLOWED_TIMES * changed_bytes:
        return COPY, f"copy-on-write: all of it is {_kb(expected[COPY])}, of which {_kb(changed_bytes)} change"
    if deleted and deleted + changed >= _MOST_DELETED:
        return COPY, f"copy-on-write: with {deleted:.0%} deleted and {changed:.0%} to change, readers would feel it"
    opening = narrowed.delete_files * _OPENING_BYTES
    many = narrowed.delete_files >= _MANY_DELETE_FILES and narrowed.bytes >= _SMALL_BYTES
    if many and opening >= _OPENING_SHARE * narrowed.bytes:
        return COPY, f"copy-on-write: readers open {narrowed.delete_files} delete files beside {_kb(narrowed.bytes)}"
    if expected[COPY] <= expected[DELETES]:
        return COPY, f"copy-on-write: {_kb(expected[COPY])} against {_kb(expected[DELETES])}"
    spared = f"{_kb(expected[DELETES])} to write and not {_kb(expected[COPY])}"
    return DELETES, f"merge-on-read: {spared}, {changed:.1%} of the rows change"


def _bytes(narrowed: Narrowed, rows: DeltaRows) -> dict[str, int]:
    """Bytes that each mode is expected to write for the rows that are there."""
    row_count = narrowed.rows
    if not row_count or not rows.changed:
        return {COPY: 0, DELETES: 0}
    # A file without a changed row is not rewritten. If the changed rows are spread evenly, this is how many have one.
    chances = [1 - (1 - min(1.0, file.rows / row_count)) ** rows.changed for file in narrowed.files]
    with_chances = list(zip(narrowed.files, chances, strict=True))
    copied = sum(file.bytes * chance for file, chance in with_chances)
    # A file has one delete file: what it named before is written again.
    positions = rows.changed + sum(file.deleted * chance for file, chance in with_chances)
    written = rows.updated * _row_bytes(narrowed) + positions * _POSITION_BYTES + sum(chances) * 2 * _FILE_BYTES
    return {COPY: round(copied), DELETES: round(written)}


def _row_bytes(narrowed: Narrowed) -> float:
    """Of a row in these files, on average."""
    return narrowed.bytes / max(1, narrowed.rows)


def _kb(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1_000_000 else f"{size / 1e3:.1f} kB"
