"""The fold check: is the mirror what its changelog makes, row by row?

A second fold, without Spark, of every change up to the sealed end, less those that the mirror has refused (they are in
its quarantine), compared with the mirror's rows. A large mirror is compared in some buckets of its keys, others with
every snapshot. That all changes were there to be folded is shown by their number, operation by operation.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import polars as pl

from lakehouse.declarations import MirrorTables
from lakehouse.declarations.mirror import BEHIND_COLUMN, DELETED_COLUMN, POSITION_COLUMN
from lakehouse.proofs.audit import Finding
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.steps.cdc.evidence import Evidence, read_evidence
from lakehouse.steps.cdc.replay.buckets import Buckets
from lakehouse.steps.cdc.replay.changes import column_types
from lakehouse.steps.cdc.replay.column_versions import canonical
from lakehouse.steps.cdc.replay.consumed import Begin, Consumed
from lakehouse.steps.cdc.replay.piecewise import frames
from lakehouse.steps.cdc.replay.refused import with_reasons
from lakehouse.steps.cdc.replay.replay import Fold, ReplayedMirror
from lakehouse.steps.cdc.statement import MirrorStatement
from lakehouse.steps.cdc.verify.compare import Example, RowComparison, RowDifference
from lakehouse.steps.cdc.verify.tombstones import judge_ledger


@dataclass(frozen=True)
class FoldProof:
    """What a fold check found.

    Args:
        mirror: its table.
        snapshot_id: the mirror's snapshot that was compared.
        end: the changelog's snapshot up to which was folded.
        looked_at: which keys.
        changes: rows of the changelog that were read; not all of them belong to the keys looked at.
        refused: changes that were left out, because the mirror's quarantine holds them.
        expected: rows that the mirror should have, of the keys looked at.
        difference: between that and the mirror.
        began: where the fold began.
    """

    mirror: str
    snapshot_id: int | None
    end: int | None = None
    looked_at: str = ""
    changes: int = 0
    refused: int = 0
    expected: int = 0
    difference: RowDifference = field(default_factory=RowDifference)
    findings: tuple[Finding, ...] = ()
    began: str = ""
    seconds: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether the mirror is the fold."""
        return not self.findings

    @property
    def examples(self) -> list[Example]:
        """Rows that are not as they should be."""
        return self.difference.examples


def check_fold(
    catalog: LakeCatalog,
    tables: MirrorTables,
    *,
    evidence: Evidence | None = None,
    limit: int | None = None,
    buckets: Buckets | None = None,
    begin: Begin = "auto",
) -> FoldProof:
    """Fold the changelog again and compare.

    Args:
        catalog: where the tables live.
        tables: the mirror as declared.
        evidence: the tables as they were loaded already.
        limit: up to how many changes every key is looked at; as declared if None.
        buckets: which keys; chosen by size and snapshot if None.
        begin: where to begin; a checkpoint is quicker, the build's beginning proves more.

    Raises:
        NoSuchTableError: a table does not exist.
        CannotFold: the changes are not all there any more, or the changelog is another table.
    """
    began = time.monotonic()
    evidence = evidence or read_evidence(catalog, tables)
    name, head = tables.mirror.name, evidence.mirror.snapshot_id
    if evidence.newest is None:
        return FoldProof(name, head, findings=evidence.findings)
    statement = evidence.newest.statement
    if buckets is None:
        size = max(sum(statement.total_operations.values()), statement.rows)
        buckets = Buckets.draw(size, tables.mirror.full_check_rows if limit is None else limit, seed=head or 0)
    check = _Check(catalog, tables, evidence, statement, buckets, begin)
    folded = check.fold()
    difference = check.compare(folded)
    return FoldProof(
        mirror=name,
        snapshot_id=head,
        end=statement.end,
        looked_at=str(buckets),
        changes=sum(check.read.values()),
        refused=check.refused,
        expected=folded.rows.height,
        difference=difference,
        findings=(*evidence.findings, *check.findings(difference), *check.tombstones(folded)),
        began=check.consumed.begin,
        seconds=round(time.monotonic() - began, 3),
    )


class _Check:
    """One comparison, step by step."""

    def __init__(
        self,
        catalog: LakeCatalog,
        tables: MirrorTables,
        evidence: Evidence,
        statement: MirrorStatement,
        buckets: Buckets,
        begin: Begin,
    ) -> None:
        self._tables, self._evidence = tables, evidence
        self._statement, self._buckets = statement, buckets
        types = column_types(evidence.mirror.table)
        self._key = list(tables.changelog.key)
        self._key_types = {name: types[name] for name in self._key}
        sealed = statement.columns or {column.name: "" for column in tables.changelog.columns}
        self._columns = {name: types[name] for name in sealed if name in types}
        self._missing = [name for name in sealed if name not in types]
        self.consumed = Consumed(catalog, tables, evidence, self._key_types, self._columns, begin=begin)
        self.read: Counter[str] = Counter()
        self.refused = 0

    @property
    def _soft(self) -> bool:
        return self._tables.mirror.deletes == "soft"

    def fold(self) -> ReplayedMirror:
        """Every change up to the sealed end, of the keys that are looked at."""
        fold = Fold(self._key, list(self._columns), soft=self._soft, truncated=self.consumed.truncated)
        refused = self.consumed.refused
        left_out = self.consumed.left_out(self._buckets, soft=self._soft)
        for piece in self.consumed.state():
            fold.add(self._chosen(left_out.correct(piece) if left_out else piece))
        for piece in self.consumed.changes():
            self.read.update(dict(piece["_operation"].value_counts().iter_rows()))
            judged = with_reasons(piece, refused)
            kept = judged.filter(pl.col("_reason").is_null()).drop("_reason")
            self.refused += judged.height - kept.height
            fold.add(self._chosen(left_out.complete(kept) if left_out else kept))
            fold.note_positions(self._chosen(judged.filter(pl.col("_reason") == "contradiction")))
        keys = fold.lone_tombstones()
        if not keys.is_empty():
            for piece in self.consumed.earlier_changes():
                counted = with_reasons(piece, refused).filter(pl.col("_reason").ne_missing("too_late"))
                fold.note_positions(counted.join(keys, on=self._key, how="semi", nulls_equal=True))
        return fold.result()

    def compare(self, folded: ReplayedMirror) -> RowDifference:
        """The mirror against the fold."""
        remembered = [POSITION_COLUMN.name, BEHIND_COLUMN.name, *([DELETED_COLUMN.name] if self._soft else [])]
        others = [name for name in self._columns if name not in self._key]
        comparison = RowComparison(
            key=self._key,
            columns=[*others, *remembered],
            hidden={column.name for column in self._tables.changelog.columns if column.sensitive},
        )
        expected = folded.rows.with_columns(pl.col(name).cast(kind) for name, kind in self._columns.items())
        return comparison.compare(
            canonical(expected, list(self._columns)), self._mirror_rows([*self._key, *others, *remembered])
        )

    def findings(self, difference: RowDifference) -> Iterator[Finding]:
        """In words: what was not there to be folded, and what the mirror has otherwise."""
        name, statement = self._tables.mirror.name, self._statement
        expected = self.consumed.operations()
        if dict(self.read) != expected:
            yield Finding(
                "changes_differ",
                f"{name}: by its seal {_counts(expected)} were applied, {statement.changelog} holds "
                f"{_counts(self.read)} (from {self.consumed.begin}).",
                statement.changelog,
            )
        sealed = statement.total_applied.contradictions + statement.total_applied.too_late
        if (quarantined := self.consumed.refused.height) != sealed:
            yield Finding(
                "refused_differ",
                f"{name}: its seals refused {sealed:,} changes, its quarantine holds {quarantined:,} of this build.",
                self._tables.quarantine.name,
            )
        if self._missing:
            yield Finding("columns_differ", f"{name} lacks the columns {', '.join(self._missing)} of its seal.", name)
        for kind, number in difference.counts.items():
            if number:
                yield Finding("rows_differ", _describe(name, kind, number, difference), name)

    def tombstones(self, folded: ReplayedMirror) -> Iterator[Finding]:
        """The ledger of deleted keys against the fold."""
        pinned = self._evidence.tombstones
        columns = [*self._key, POSITION_COLUMN.name]
        ledger = [self._in_buckets(piece) for piece in frames(pinned.table, pinned.snapshot_id, columns)]
        yield from judge_ledger(self._tables, folded, ledger, low_watermark_us=self._statement.low_watermark_us)

    def _chosen(self, piece: pl.DataFrame) -> pl.DataFrame:
        # A truncate has no key, and concerns every key.
        return self._buckets.of(piece, self._key, always=pl.col("_operation") == "truncate")

    def _in_buckets(self, piece: pl.DataFrame) -> pl.DataFrame:
        cast = piece.with_columns(pl.col(name).cast(kind) for name, kind in self._key_types.items())
        return self._buckets.of(cast, self._key)

    def _mirror_rows(self, columns: list[str]) -> Iterator[pl.DataFrame]:
        pinned = self._evidence.mirror
        for piece in frames(pinned.table, pinned.snapshot_id, columns):
            yield canonical(self._in_buckets(piece), list(self._columns))


def _counts(operations: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in sorted(operations.items()) if number) or "no changes"


def _describe(name: str, kind: str, number: int, difference: RowDifference) -> str:
    problem = {
        "only_left": "rows are missing",
        "only_right": "rows should not be there",
        "different": "rows differ",
        "duplicated": "keys are there more than once",
    }[kind]
    columns = ""
    if kind == "different":
        by_count = sorted(difference.columns.items(), key=lambda item: -item[1])
        columns = f" (in {', '.join(f'{column}: {rows:,}' for column, rows in by_count)})"
    shown = "; ".join(str(example) for example in difference.examples if example.kind == kind)
    return f"{name}: {number:,} {problem}{columns}: {shown}."
