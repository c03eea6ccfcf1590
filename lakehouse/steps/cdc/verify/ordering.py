"""The order of changes: is a position one change, and how far from their order do changes arrive?

Positions decide what a mirror is, so two things said at one position are a contradiction, and one of them belongs in
the mirror's quarantine. Lateness decides which deletes may be forgotten, so changes should not be later than declared.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

import polars as pl

from lakehouse.declarations import MirrorTables
from lakehouse.steps.cdc.evidence import Evidence, MirrorLink
from lakehouse.steps.cdc.replay.changes import column_types, read_changes
from lakehouse.steps.cdc.replay.piecewise import offsets_between
from lakehouse.steps.cdc.replay.refused import PLACE, POSITION, refused_changes, without_refused
from lakehouse.steps.cdc.statement import MirrorStatement
from lakehouse.steps.cdc.verify.compare import RowComparison, named
from lakehouse.steps.cdc.verify.late_share import LateShare, late_share
from lakehouse.steps.cdc.verify.live_keys import inserts_onto_live_keys

_OF_A_ROW = ("insert", "update", "read", "delete", "tombstone")
_SHOWN = 10


@dataclass(frozen=True)
class OrderProof:
    """What the order of some changes is like.

    Args:
        looked_at: which changes, in words.
        changes: how many.
        duplicates: changes that repeat another at the same position.
        refused: changes that are in the mirror's quarantine.
        contradictions: keys at whose newest position several things are said, none of them in quarantine.
        void: contradictions at older positions: newer changes have decided.
        examples: some contradictions, for a person.
        out_of_order: changes that came after a newer one in their Kafka partition.
        latest: how much older, by the source's time, a change was than one before it in its partition.
        allowed: the declared lateness.
        late: what the newest runs refused for coming too late.
        onto_live: inserts of keys that were there already: the declared key is none, or a delete is missing.
        live_examples: some of them, for a person.
    """

    looked_at: str = "nothing"
    changes: int = 0
    duplicates: int = 0
    refused: int = 0
    contradictions: int = 0
    void: int = 0
    examples: tuple[str, ...] = ()
    out_of_order: int = 0
    latest: timedelta = timedelta(0)
    allowed: timedelta = timedelta(0)
    late: LateShare = field(default_factory=LateShare)
    onto_live: int = 0
    live_examples: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether each position is one change."""
        return not self.contradictions

    @property
    def in_time(self) -> bool:
        """Whether no change was later than declared."""
        return self.latest <= self.allowed


def check_order(tables: MirrorTables, evidence: Evidence, *, limit: int | None = None) -> OrderProof:
    """Look at the newest changes that the mirror has consumed.

    Args:
        tables: the mirror as declared.
        evidence: its tables.
        limit: about how many changes; as declared for the fold check if None.
    """
    began = time.monotonic()
    if evidence.newest is None:
        return OrderProof(allowed=tables.mirror.lateness)
    begin, looked_at = _begin(evidence, tables.mirror.full_check_rows if limit is None else limit)
    changes = pl.concat(
        [_narrow(piece, tables) for piece in _read(tables, evidence, begin)] or [_empty(tables, evidence)]
    )
    refused = refused_changes(evidence.quarantine, evidence.newest.statement.build)
    judged = without_refused(changes, refused)
    key = list(tables.changelog.key)
    rows = judged.filter(pl.col("_operation").is_in(_OF_A_ROW) & pl.col("_epoch").is_not_null())
    contradictions = _contradictions(rows, key)
    newest = contradictions.filter(pl.col("_newest"))
    onto_live = inserts_onto_live_keys(judged, key)
    out_of_order, latest = _lateness(changes)
    return OrderProof(
        looked_at=looked_at,
        changes=changes.height,
        duplicates=_duplicates(rows, key),
        refused=changes.height - judged.height,
        contradictions=newest.height,
        void=contradictions.height - newest.height,
        examples=tuple(_shown(newest.head(_SHOWN), tables)),
        out_of_order=out_of_order,
        latest=latest,
        allowed=tables.mirror.lateness,
        late=late_share(evidence.links, tables.mirror.max_late_share),
        onto_live=onto_live.height,
        live_examples=tuple(_live_shown(onto_live.head(_SHOWN), tables)),
        seconds=round(time.monotonic() - began, 3),
    )


def _begin(evidence: Evidence, limit: int) -> tuple[Mapping[int, int] | None, str]:
    """From which offsets on, so that about so many changes are looked at: whole ranges of the mirror's runs."""
    assert evidence.newest is not None
    newest = evidence.newest.statement
    if sum(newest.total_operations.values()) <= limit:
        return None, "every change since the build began"
    links = [link for link in evidence.links if link.statement.build == newest.build]
    taken: list[MirrorLink] = []
    for link in reversed(links):
        if taken and sum(t.statement.changes for t in taken) + link.statement.changes > limit:
            break
        taken.append(link)
    before = links[: len(links) - len(taken)]
    if not before:
        return None, "every change since the build began"
    return before[-1].statement.kafka_end, f"the changes of the newest {len(taken)} runs"


def _read(tables: MirrorTables, evidence: Evidence, begin: Mapping[int, int] | None) -> Iterator[pl.DataFrame]:
    assert evidence.newest is not None
    statement: MirrorStatement = evidence.newest.statement
    types = column_types(evidence.mirror.table)
    key = {name: types[name] for name in tables.changelog.key}
    log = evidence.changelog
    pinned = statement.end if log.table.metadata.snapshot_by_id(statement.end) else log.snapshot_id
    return read_changes(log.table, pinned, key, {}, offsets_between(begin, statement.kafka_end))


def _narrow(piece: pl.DataFrame, tables: MirrorTables) -> pl.DataFrame:
    """Without the images, of which a hash remains."""
    gone = pl.col("_operation").is_in(["delete", "tombstone"])
    content = pl.struct(
        pl.when(gone).then(pl.lit("delete")).otherwise("_operation").alias("operation"),
        pl.when(~gone).then("_after").alias("after"),
        pl.when(~gone & (pl.col("_unavailable").list.len() > 0))
        .then(pl.col("_unavailable").list.sort())
        .alias("unavailable"),
    )
    return piece.select(*tables.changelog.key, "_operation", *POSITION, "_time", *PLACE, _said=content.hash(1))


def _empty(tables: MirrorTables, evidence: Evidence) -> pl.DataFrame:
    types = column_types(evidence.mirror.table)
    numbers = dict.fromkeys((*POSITION, "_partition", "_offset"), pl.Int64())
    texts = dict.fromkeys(("_operation", "_topic"), pl.String())
    schema = {name: types[name] for name in tables.changelog.key} | numbers | texts
    return pl.DataFrame(schema={**schema, "_time": pl.Datetime("us", "UTC"), "_said": pl.UInt64()})


def _contradictions(rows: pl.DataFrame, key: list[str]) -> pl.DataFrame:
    """Key and position where several things are said, the places, and whether that position is the key's newest."""
    where = [*key, *POSITION]
    positions = rows.group_by(where).agg(_things=pl.col("_said").n_unique(), _places=pl.struct("_partition", "_offset"))
    contradictions = positions.filter(pl.col("_things") > 1)
    order = pl.struct(*POSITION)
    newest = rows.join(contradictions.select(key).unique(), on=key, how="semi", nulls_equal=True)
    newest = newest.sort(POSITION, descending=True).unique(key, keep="first").select(*key, _at=order)
    joined = contradictions.join(newest, on=key, how="left", nulls_equal=True)
    return joined.with_columns(_newest=order == pl.col("_at")).sort(where)


def _duplicates(rows: pl.DataFrame, key: list[str]) -> int:
    return rows.height - rows.select(pl.struct(*key, *POSITION, "_said").n_unique()).item() if rows.height else 0


def _lateness(changes: pl.DataFrame) -> tuple[int, timedelta]:
    """Changes that came after a newer one in their partition, and the greatest distance in the source's time.

    What a snapshot reads has no place in the log, and may be read at any time.
    """
    logged = changes.filter((pl.col("_commit") > 0) & (pl.col("_operation") != "read")).sort("_topic", *PLACE[1:])
    if logged.is_empty():
        return 0, timedelta(0)
    ranked = logged.sort(POSITION).with_columns(_rank=pl.struct(*POSITION).rle_id()).sort(PLACE)
    group = PLACE[:2]
    lateness = ranked.select(
        older=pl.col("_rank") < pl.col("_rank").cum_max().over(group),
        late=pl.col("_time").cum_max().over(group) - pl.col("_time"),
    )
    latest = lateness["late"].max()
    return int(lateness["older"].sum()), latest if isinstance(latest, timedelta) else timedelta(0)


def _live_shown(inserts: pl.DataFrame, tables: MirrorTables) -> Iterator[str]:
    shown = _keys_shown(tables)
    for row in inserts.iter_rows(named=True):
        yield f"{named(shown.key_shown(row))} (partition {row['_partition']} offset {row['_offset']})"


def _keys_shown(tables: MirrorTables) -> RowComparison:
    """Shows keys without what is sensitive of them."""
    return RowComparison(tables.changelog.key, (), {c.name for c in tables.changelog.key_columns if c.sensitive})


def _shown(contradictions: pl.DataFrame, tables: MirrorTables) -> Iterator[str]:
    shown = _keys_shown(tables)
    for row in contradictions.iter_rows(named=True):
        position = "/".join(str(row[part]) for part in POSITION)
        places = ", ".join(
            f"partition {coordinates['_partition']} offset {coordinates['_offset']}" for coordinates in row["_places"]
        )
        yield f"{named(shown.key_shown(row))} at {position}: {row['_things']} different changes ({places})"
