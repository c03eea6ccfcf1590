"""Keys whose row may be stale, since a change of theirs was refused by the stream and never reached the changelog.

A refused change is in the quarantine of the stream, as it came. A key is healed by a newer good change that the mirror
has applied: then the row is as the source has it again. Doubt goes along where a row's key changes and values are left
out. Where the key cannot be read, nothing can heal it but to reprocess the record.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl
import pyarrow as pa
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.expressions import AlwaysTrue, And, BooleanExpression
from pyiceberg.table import Table

from lakehouse.declarations import Debezium, Declarations, MirrorTables, arrow_schema
from lakehouse.declarations.formats.change_format import ChangeFormat
from lakehouse.formats.changes import ChangeDecoder, ChangeTable
from lakehouse.proofs.audit.coordinates import OFFSET, PARTITION
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.seals.read_group import Pinned, read_group
from lakehouse.steps.cdc.evidence import Evidence, read_evidence
from lakehouse.steps.cdc.replay.changes import Types, column_types
from lakehouse.steps.cdc.replay.column_versions import ORDER
from lakehouse.steps.cdc.replay.piecewise import frames, offsets_between
from lakehouse.steps.cdc.replay.refused import refused_changes, without_refused
from lakehouse.steps.cdc.verify.compare import RowComparison, named
from lakehouse.steps.cdc.verify.doubt_healing import COLUMNS, KEY, KeysInDoubt, came_since, needs_all

_TIME = "_kafka_timestamp"
_SHOWN = 10
# To read a refused message again takes about as long as so many changes.
_AS_DEAR = 20
_ORDER = {name: pl.Int64() for name in ORDER}
_REFUSED = {"_partition": pl.Int64(), "_offset": pl.Int64(), "_time": pl.Datetime("us", "UTC"), "_class": pl.String()}


@dataclass(frozen=True)
class Doubt:
    """What the stream refused of a mirror's changes.

    Args:
        mirror: its table.
        allowed: above so many the check fails.
        refused: changes in the stream's quarantine that are of the mirror's changelog, or may be.
        keys: of how many keys some are, and no good change came after.
        unknown: changes whose key cannot be read.
        healed: changes after which a good one of their key was applied.
        examples: of each key the oldest that nothing has healed, with its place in Kafka; no value of a sensitive
            column. A row whose key changed is shown by its new key.
    """

    mirror: str
    allowed: int = 0
    refused: int = 0
    keys: int = 0
    unknown: int = 0
    healed: int = 0
    examples: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def count(self) -> int:
        """Keys in doubt, and changes of which nobody knows the key."""
        return self.keys + self.unknown

    @property
    def bearable(self) -> bool:
        """Whether no more is in doubt than the mirror declares."""
        return self.count <= self.allowed

    def __str__(self) -> str:
        parts = [f"{self.keys:,} keys in doubt"] if self.keys else []
        parts += [f"{self.unknown:,} refused changes of unknown key"] if self.unknown else []
        return f"{self.mirror}: {' and '.join(parts) or 'no key in doubt'}"


def find_doubt(
    catalog: LakeCatalog,
    tables: MirrorTables,
    declarations: Declarations,
    *,
    evidence: Evidence | None = None,
    limit: int | None = None,
) -> Doubt | None:
    """Count the keys whose row may be stale.

    Args:
        catalog: where the tables live.
        tables: the mirror as declared.
        declarations: with its stream.
        evidence: the mirror's tables as they were loaded already.
        limit: give up (None) where more changes than this, or a twentieth as many refused ones, would have to be
            looked at; None: never.

    Raises:
        NoSuchTableError: a table of the mirror, or its changelog, does not exist.
    """
    began = time.monotonic()
    evidence = evidence or read_evidence(catalog, tables)
    nothing = Doubt(tables.mirror.name, tables.mirror.max_doubtful_keys)
    stream = declarations.streams[tables.changelog.stream_name]
    try:
        quarantine = read_group(catalog, [stream.quarantine_table])[stream.quarantine_table]
    except NoSuchTableError:  # the stream has not begun
        return nothing
    if evidence.newest is None:
        return nothing
    if limit is not None and _rows(quarantine.table, quarantine.snapshot_id, AlwaysTrue()) > limit // _AS_DEAR:
        return None
    search = _DoubtSearch(tables, declarations, evidence)
    refused = search.refused(quarantine)
    if refused.is_empty():
        return nothing
    unhealed = search.unhealed(refused, limit)
    if unhealed is None:
        return None
    unknown = unhealed.filter(~pl.col("_known"))
    key = search.key
    return Doubt(
        mirror=nothing.mirror,
        allowed=nothing.allowed,
        refused=refused.height,
        keys=unhealed.filter("_known").select(key).unique().height,
        unknown=unknown.height,
        healed=refused.height - unhealed["_row"].n_unique(),
        examples=tuple(search.shown(unhealed)),
        seconds=round(time.monotonic() - began, 3),
    )


class _DoubtSearch:
    """One look at a mirror."""

    def __init__(self, tables: MirrorTables, declarations: Declarations, evidence: Evidence) -> None:
        assert evidence.newest is not None
        self._tables, self._evidence, self._statement = tables, evidence, evidence.newest.statement
        self._decoder = refusal_decoder(tables, declarations)
        types = column_types(evidence.mirror.table)
        self._types: Types = {name: types[name] for name in tables.changelog.key}
        self._keys = KeysInDoubt(self._types)
        self.key = self._keys.key

    def refused(self, quarantine: Pinned) -> pl.DataFrame:
        """What is in the stream's quarantine of this mirror, with `_known` and the key's columns."""
        kinds = {f"{KEY}{name}": kind for name, kind in self._types.items()}
        pieces = [pl.DataFrame(schema={**kinds, "_known": pl.Boolean(), **_ORDER, **_REFUSED})]
        columns = ("key", "value", "error_class", PARTITION, OFFSET, _TIME)
        for piece in frames(quarantine.table, quarantine.snapshot_id, columns):
            decoded = self._decoder.refused(
                self._tables.changelog.name, piece["value"].to_list(), piece["key"].to_list(), piece[OFFSET].to_list()
            )
            own = piece[decoded.rows]
            keys = [
                pl.Series(name, pa.chunked_array([column])).cast(kind)
                for column, (name, kind) in zip(decoded.columns, kinds.items(), strict=True)
            ]
            coordinates = own.select(
                pl.col(column).cast(kind).alias(name)
                for column, (name, kind) in zip(
                    (PARTITION, OFFSET, _TIME, "error_class"), _REFUSED.items(), strict=True
                )
            )
            known = pl.Series("_known", decoded.known, pl.Boolean())
            positions = pl.DataFrame([place or (None,) * 3 for place in decoded.positions], _ORDER, orient="row")
            pieces.append(pl.DataFrame([*keys, known]).hstack(positions).hstack(coordinates))
        return pl.concat(pieces).with_row_index("_row")

    def unhealed(self, refused: pl.DataFrame, limit: int | None) -> pl.DataFrame | None:
        """Those after which no good change of their key was applied, at the key that is stale now; None: too much."""
        log, statement = self._evidence.changelog, self._statement
        known = refused.filter("_known")
        if known.is_empty():
            return refused
        snapshot_id, applied = statement.end, AlwaysTrue()
        if log.table.metadata.snapshot_by_id(statement.end) is None:
            snapshot_id, applied = log.snapshot_id, offsets_between(None, statement.kafka_end)
        changes = None
        for where in (And(applied, came_since(known)), applied):
            if limit is not None and _rows(log.table, snapshot_id, where) > limit:
                return None
            changes = self._applied(known, snapshot_id, where)
            if not needs_all(known, changes):
                break
        assert changes is not None
        stale = self._keys.unhealed(known, changes)
        stale = stale.join(refused.drop(self.key), on="_row", how="inner").select(refused.columns)
        return pl.concat([stale, refused.filter(~pl.col("_known"))])

    def shown(self, unhealed: pl.DataFrame) -> Iterator[str]:
        """The oldest for a person, of each key one."""
        log = self._tables.changelog
        comparison = RowComparison(log.key, (), {c.name for c in log.key_columns if c.sensitive})
        rows = unhealed.sort("_time", "_partition", "_offset")
        known = rows.filter("_known").unique(self.key, keep="first", maintain_order=True)
        oldest = pl.concat([known, rows.filter(~pl.col("_known"))]).sort("_time", "_partition", "_offset")
        for row in oldest.head(_SHOWN).iter_rows(named=True):
            key = {name: row[f"{KEY}{name}"] for name in self._types}
            shown_key = named(comparison.key_shown(key)) if row["_known"] else "of unknown key"
            yield f"{shown_key}: {row['_class']} at partition {row['_partition']} offset {row['_offset']}"

    def _applied(self, known: pl.DataFrame, snapshot_id: int | None, where: BooleanExpression) -> pl.DataFrame:
        """What the mirror has applied of some keys, and of those that their rows moved to."""
        refused = refused_changes(self._evidence.quarantine, self._statement.build)

        def pieces() -> Iterator[pl.DataFrame]:
            for piece in frames(self._evidence.changelog.table, snapshot_id, (*COLUMNS, "_kafka_topic"), where):
                changes = self._keys.as_changes(piece)
                placed = changes.hstack(piece.select(_topic="_kafka_topic"))
                yield without_refused(placed, refused).select(changes.columns)

        return self._keys.changes(known, pieces)


def refusal_decoder(tables: MirrorTables, declarations: Declarations) -> ChangeDecoder:
    """A decoder of the mirror's stream, for what its records say of themselves: it needs no table of the catalog."""
    stream = declarations.streams[tables.changelog.stream_name]
    form = stream.format if isinstance(stream.format, ChangeFormat) else Debezium()
    logs = [declarations.changelogs[name] for name in stream.tables]
    return ChangeDecoder(
        form,
        {log.name: ChangeTable.of(log, arrow_schema(log.table.without_coordinates()), [log.source]) for log in logs},
    )


def _rows(table: Table, snapshot_id: int | None, where: BooleanExpression) -> int:
    """About how many, by the files that may hold some."""
    if snapshot_id is None:
        return 0
    scan = table.scan(snapshot_id=snapshot_id, row_filter=where)
    return sum(task.file.record_count for task in scan.plan_files())
