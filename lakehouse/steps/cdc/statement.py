"""What a mirror's seal says: which changes were applied, what came of them, and what has to be remembered.

Flat string keys, without the `lakehouse.` prefix that the seal adds. Mirror, tombstones and quarantine carry the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

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
            "mirror.changelog": self.changelog,
            "mirror.changelog_uuid": self.changelog_uuid,
            "mirror.build": self.build,
            "mirror.start": "" if self.start is None else str(self.start),
            "mirror.end": str(self.end),
            "mirror.changes": str(self.changes),
            "mirror.operations": _json(self.operations),
            "mirror.total_operations": _json(self.total_operations),
            "mirror.digest": self.digest,
            "mirror.applied": _json(self.applied),
            "mirror.total_applied": _json(self.total_applied),
            "mirror.rows": str(self.rows),
            "mirror.position": str(self.position or ""),
            "mirror.source_time_us": str(self.source_time_us),
            "mirror.progress": _json(self.progress),
            "mirror.low_watermark_us": str(self.low_watermark_us),
            "mirror.truncated": str(self.truncated or ""),
            "mirror.behind": _json(list(self.behind)),
            "mirror.moved": str(self.moved or ""),
            "mirror.columns": _json(self.columns),
            "mirror.initial": self.initial,
            "mirror.arrived_ms": str(self.arrived_ms),
            "mirror.kafka_end": _json(self.kafka_end),
            "mirror.plan": self.plan,
            **({"mirror.reprocessed": str(self.reprocessed)} if self.reprocessed else {}),
        }

    @classmethod
    def from_keys(cls, keys: Mapping[str, str]) -> "MirrorStatement | None":
        """Read a statement back, or None where the keys are not about a mirror."""
        if "mirror.end" not in keys:
            return None
        counts = dict[str, int]
        return cls(
            changelog=keys["mirror.changelog"],
            changelog_uuid=keys["mirror.changelog_uuid"],
            build=keys["mirror.build"],
            start=int(keys["mirror.start"]) if keys["mirror.start"] else None,
            end=int(keys["mirror.end"]),
            changes=int(keys["mirror.changes"]),
            operations=msgspec.json.decode(keys["mirror.operations"], type=counts),
            total_operations=msgspec.json.decode(keys["mirror.total_operations"], type=counts),
            digest=keys["mirror.digest"],
            applied=msgspec.json.decode(keys["mirror.applied"], type=Applied),
            total_applied=msgspec.json.decode(keys["mirror.total_applied"], type=Applied),
            rows=int(keys["mirror.rows"]),
            position=ChangePosition.parse(keys["mirror.position"]),
            source_time_us=int(keys["mirror.source_time_us"]),
            progress=msgspec.json.decode(keys["mirror.progress"], type=dict[int, int]),
            low_watermark_us=int(keys["mirror.low_watermark_us"]),
            truncated=ChangePosition.parse(keys["mirror.truncated"]),
            behind=tuple(msgspec.json.decode(keys["mirror.behind"], type=list[str])),
            moved=ChangePosition.parse(keys.get("mirror.moved", "")),
            columns=msgspec.json.decode(keys["mirror.columns"], type=dict[str, str]),
            initial=keys["mirror.initial"],
            arrived_ms=int(keys["mirror.arrived_ms"]),
            kafka_end=msgspec.json.decode(keys["mirror.kafka_end"], type=dict[int, int]),
            reprocessed=int(keys.get("mirror.reprocessed", "0")),
            plan=keys["mirror.plan"],
        )


def _json(value: object) -> str:
    ordered = dict(sorted(value.items())) if isinstance(value, Mapping) else value
    return msgspec.json.encode(ordered).decode()
