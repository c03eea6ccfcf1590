"""What a mirror's seal says: which changes were applied, what came of them, and what has to be remembered.

Flat string keys, without the `lakehouse.` prefix that the seal adds. Mirror, tombstones and quarantine carry the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from lakehouse import seal_keys
from lakehouse.steps.cdc.position import ChangePosition

KIND_MIRROR = "mirror"
KIND_REBUILD = "rebuild"


class Applied(msgspec.Struct, frozen=True):
    """What came of a range, of one step or since the build began.

    Attributes:
        inserted: rows that the mirror did not have.
        updated: rows that changed.
        deleted: rows that went, or are marked as deleted.
        unchanged: keys whose changes were all older than what the mirror knows, or none to begin with.
        duplicates: changes that say the same as another at the same position.
        contradictions: changes that say something else than another at the same position; in quarantine.
        too_late: changes below the low watermark of keys that nobody knows; in quarantine.
    """

    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    unchanged: int = 0
    duplicates: int = 0
    contradictions: int = 0
    too_late: int = 0

    def __add__(self, other: "Applied") -> "Applied":
        """Both together."""
        mine, theirs = msgspec.structs.asdict(self), msgspec.structs.asdict(other)
        return Applied(**{name: mine[name] + theirs[name] for name in mine})


@dataclass(frozen=True)
class MirrorStatement:
    """The mirror's part of a seal.

    Args:
        changelog: its table.
        changelog_uuid: of that table, so that a changelog that was created anew is recognised.
        build: id of the attempt that began this build of the mirror; a rebuild begins another.
        start: changelog snapshot after which the range begins; None: with the changelog's first row.
        end: changelog snapshot with which the range ends.
        changes: rows of the range.
        operations: operation → rows of the range.
        total_operations: the same since the build began.
        digest: order-free digest of the range's rows, decimal.
        applied: what came of them.
        total_applied: since the build began.
        rows: rows that the mirror should hold now (soft-deleted ones included).
        position: greatest source position reached.
        source_time_us: greatest source time reached, microseconds since the epoch.
        progress: Kafka partition → greatest source time seen, microseconds.
        low_watermark_us: below this source time nothing is expected any more; tombstones older than it are collected.
        truncated: position of the newest truncate.
        behind: columns that some row may hold older than the row itself.
        moved: greatest position of a change of key that left values out.
        columns: source column → its type in Spark's words, as mirrored.
        initial: `table@snapshot` from which the build began, or empty.
        arrived_ms: Kafka's timestamp of the newest change applied, milliseconds.
        kafka_end: partition → first offset of the changelog's topic that is not in the mirror.
        reprocessed: rows of the changelog that came from the quarantine, up to the sealed end.
        plan: what the planner chose and why (JSON), for the reader.
    """

    changelog: str
    changelog_uuid: str
    build: str
    start: int | None
    end: int
    changes: int = 0
    operations: Mapping[str, int] = field(default_factory=dict[str, int])
    total_operations: Mapping[str, int] = field(default_factory=dict[str, int])
    digest: str = "0"
    applied: Applied = field(default_factory=Applied)
    total_applied: Applied = field(default_factory=Applied)
    rows: int = 0
    position: ChangePosition | None = None
    source_time_us: int = 0
    progress: Mapping[int, int] = field(default_factory=dict[int, int])
    low_watermark_us: int = 0
    truncated: ChangePosition | None = None
    behind: tuple[str, ...] = ()
    moved: ChangePosition | None = None
    columns: Mapping[str, str] = field(default_factory=dict[str, str])
    initial: str = ""
    arrived_ms: int = 0
    kafka_end: Mapping[int, int] = field(default_factory=dict[int, int])
    reprocessed: int = 0
    plan: str = "{}"

    def to_keys(self) -> dict[str, str]:
        """The statement as flat keys."""
        return {
            seal_keys.MIRROR_CHANGELOG: self.changelog,
            seal_keys.MIRROR_CHANGELOG_UUID: self.changelog_uuid,
            seal_keys.MIRROR_BUILD: self.build,
            seal_keys.MIRROR_START: "" if self.start is None else str(self.start),
            seal_keys.MIRROR_END: str(self.end),
            seal_keys.MIRROR_CHANGES: str(self.changes),
            seal_keys.MIRROR_OPERATIONS: _json(self.operations),
            seal_keys.MIRROR_TOTAL_OPERATIONS: _json(self.total_operations),
            seal_keys.MIRROR_DIGEST: self.digest,
            seal_keys.MIRROR_APPLIED: _json(self.applied),
            seal_keys.MIRROR_TOTAL_APPLIED: _json(self.total_applied),
            seal_keys.MIRROR_ROWS: str(self.rows),
            seal_keys.MIRROR_POSITION: str(self.position or ""),
            seal_keys.MIRROR_SOURCE_TIME_US: str(self.source_time_us),
            seal_keys.MIRROR_PROGRESS: _json(self.progress),
            seal_keys.MIRROR_LOW_WATERMARK_US: str(self.low_watermark_us),
            seal_keys.MIRROR_TRUNCATED: str(self.truncated or ""),
            seal_keys.MIRROR_BEHIND: _json(list(self.behind)),
            seal_keys.MIRROR_MOVED: str(self.moved or ""),
            seal_keys.MIRROR_COLUMNS: _json(self.columns),
            seal_keys.MIRROR_INITIAL: self.initial,
            seal_keys.MIRROR_ARRIVED_MS: str(self.arrived_ms),
            seal_keys.MIRROR_KAFKA_END: _json(self.kafka_end),
            seal_keys.MIRROR_PLAN: self.plan,
            **({seal_keys.MIRROR_REPROCESSED: str(self.reprocessed)} if self.reprocessed else {}),
        }

    @classmethod
    def from_keys(cls, keys: Mapping[str, str]) -> "MirrorStatement | None":
        """Read a statement back, or None where the keys are not about a mirror."""
        if seal_keys.MIRROR_END not in keys:
            return None
        counts = dict[str, int]
        return cls(
            changelog=keys[seal_keys.MIRROR_CHANGELOG],
            changelog_uuid=keys[seal_keys.MIRROR_CHANGELOG_UUID],
            build=keys[seal_keys.MIRROR_BUILD],
            start=int(keys[seal_keys.MIRROR_START]) if keys[seal_keys.MIRROR_START] else None,
            end=int(keys[seal_keys.MIRROR_END]),
            changes=int(keys[seal_keys.MIRROR_CHANGES]),
            operations=msgspec.json.decode(keys[seal_keys.MIRROR_OPERATIONS], type=counts),
            total_operations=msgspec.json.decode(keys[seal_keys.MIRROR_TOTAL_OPERATIONS], type=counts),
            digest=keys[seal_keys.MIRROR_DIGEST],
            applied=msgspec.json.decode(keys[seal_keys.MIRROR_APPLIED], type=Applied),
            total_applied=msgspec.json.decode(keys[seal_keys.MIRROR_TOTAL_APPLIED], type=Applied),
            rows=int(keys[seal_keys.MIRROR_ROWS]),
            position=ChangePosition.parse(keys[seal_keys.MIRROR_POSITION]),
            source_time_us=int(keys[seal_keys.MIRROR_SOURCE_TIME_US]),
            progress=msgspec.json.decode(keys[seal_keys.MIRROR_PROGRESS], type=dict[int, int]),
            low_watermark_us=int(keys[seal_keys.MIRROR_LOW_WATERMARK_US]),
            truncated=ChangePosition.parse(keys[seal_keys.MIRROR_TRUNCATED]),
            behind=tuple(msgspec.json.decode(keys[seal_keys.MIRROR_BEHIND], type=list[str])),
            moved=ChangePosition.parse(keys.get(seal_keys.MIRROR_MOVED, "")),
            columns=msgspec.json.decode(keys[seal_keys.MIRROR_COLUMNS], type=dict[str, str]),
            initial=keys[seal_keys.MIRROR_INITIAL],
            arrived_ms=int(keys[seal_keys.MIRROR_ARRIVED_MS]),
            kafka_end=msgspec.json.decode(keys[seal_keys.MIRROR_KAFKA_END], type=dict[int, int]),
            reprocessed=int(keys.get(seal_keys.MIRROR_REPROCESSED, "0")),
            plan=keys[seal_keys.MIRROR_PLAN],
        )


def _json(value: object) -> str:
    ordered = dict(sorted(value.items())) if isinstance(value, Mapping) else value
    return msgspec.json.encode(ordered).decode()
