"""Every key of a seal, once. What is under each of them is on the page `docs/reference/seals.md`.

The first six are keys of a snapshot's summary as they stand. All others are keys of a statement: the seal puts `PREFIX`
in front of them. They are stored in tables for good, so a key is never renamed, and a retired one is never used again.
"""

from typing import Final

# Of every seal. What else it says of its step has the name of the field of `protocol.seals.seal.Seal`.
PREFIX: Final = "lakehouse."
VERSION: Final = "lakehouse.seal"
DIGEST: Final = "lakehouse.digest"
ATTEMPT: Final = "lakehouse.attempt"  # also on the snapshots that an attempt has staged
KIND: Final = "lakehouse.kind"
INPUTS: Final = "lakehouse.inputs"

# Of all tables of a stream.
KAFKA_CLUSTER_ID: Final = "kafka.cluster_id"
KAFKA_TOPIC: Final = "kafka.topic"
KAFKA_TOPIC_ID: Final = "kafka.topic_id"
KAFKA_START: Final = "kafka.start"
KAFKA_END: Final = "kafka.end"
KAFKA_TALLIES: Final = "kafka.tallies"
KAFKA_TOTALS: Final = "kafka.totals"
KAFKA_ORIGIN: Final = "kafka.origin"
KAFKA_LOST: Final = "kafka.lost"
KAFKA_COUNTS: Final = "kafka.counts"
KAFKA_TOTAL_COUNTS: Final = "kafka.total_counts"
KAFKA_VALID_THROUGH_MS: Final = "kafka.valid_through_ms"
KAFKA_RETIRED: Final = "kafka.retired"
KAFKA_REFUSED_LAST: Final = "kafka.refused_last"
KAFKA_LOSSES: Final = "kafka.losses"
KAFKA_REPROCESSED: Final = "kafka.reprocessed"
KAFKA_WITHOUT_RECORD: Final = "kafka.without_record"
KAFKA_WITHOUT_RECORD_BECAUSE: Final = "kafka.without_record_because"
KAFKA_LOGS: Final = "kafka.logs"
KAFKA_LEADER_EPOCHS: Final = "kafka.leader_epochs"
KAFKA_WITHOUT_COORDINATES: Final = "kafka.without_coordinates"
KAFKA_JOINED: Final = "kafka.joined"
KAFKA_TOPICS: Final = "kafka.topics"
CHANGES_OPERATIONS: Final = "changes.operations"
EVOLUTION_CHANGES: Final = "evolution.changes"
EVOLUTION_STOPPED: Final = "evolution.stopped"
ROUTE_TABLES: Final = "route.tables"
DROPPED_RULES: Final = "dropped.rules"
FORMAT_SCHEMAS: Final = "format.schemas"
FORMAT_KNOWN_SCHEMAS: Final = "format.known_schemas"
FORMAT_EXTRA_FIELDS: Final = "format.extra_fields"
QUALITY_RULES: Final = "quality.rules"  # of derived tables, and of what assets write, as well
REFUSED_ERROR: Final = "refused.error"
REFUSED_REASON: Final = "refused.reason"

# Of commands that repair a stream, or let go of what it has.
ADOPT_FROM: Final = "adopt.from"
ADOPT_SOURCE: Final = "adopt.source"
ADOPT_UNACCOUNTED: Final = "adopt.unaccounted"
LOSS_REASON: Final = "loss.reason"
LOSS_DOUBTFUL: Final = "loss.doubtful"
REPROCESS_OFFSETS: Final = "reprocess.offsets"
REPROCESS_REASON: Final = "reprocess.reason"
RETIRE_BEFORE: Final = "retire.before"
DEDUPLICATE_TABLE: Final = "deduplicate.table"
DEDUPLICATE_REMOVED: Final = "deduplicate.removed"
DEDUPLICATE_PARTITIONS: Final = "deduplicate.partitions"

# Of a mirror, its tombstones and its quarantine.
MIRROR_CHANGELOG: Final = "mirror.changelog"
MIRROR_CHANGELOG_UUID: Final = "mirror.changelog_uuid"
MIRROR_BUILD: Final = "mirror.build"
MIRROR_START: Final = "mirror.start"
MIRROR_END: Final = "mirror.end"
MIRROR_CHANGES: Final = "mirror.changes"
MIRROR_OPERATIONS: Final = "mirror.operations"
MIRROR_TOTAL_OPERATIONS: Final = "mirror.total_operations"
MIRROR_DIGEST: Final = "mirror.digest"
MIRROR_APPLIED: Final = "mirror.applied"
MIRROR_TOTAL_APPLIED: Final = "mirror.total_applied"
MIRROR_ROWS: Final = "mirror.rows"
MIRROR_POSITION: Final = "mirror.position"
MIRROR_SOURCE_TIME_US: Final = "mirror.source_time_us"
MIRROR_PROGRESS: Final = "mirror.progress"
MIRROR_LOW_WATERMARK_US: Final = "mirror.low_watermark_us"
MIRROR_TRUNCATED: Final = "mirror.truncated"
MIRROR_BEHIND: Final = "mirror.behind"
MIRROR_MOVED: Final = "mirror.moved"
MIRROR_COLUMNS: Final = "mirror.columns"
MIRROR_INITIAL: Final = "mirror.initial"
MIRROR_ARRIVED_MS: Final = "mirror.arrived_ms"
MIRROR_KAFKA_END: Final = "mirror.kafka_end"
MIRROR_PLAN: Final = "mirror.plan"
MIRROR_REPROCESSED: Final = "mirror.reprocessed"

# Of a derived table.
DERIVED_MODE: Final = "derived.mode"
DERIVED_ADDED: Final = "derived.added"
DERIVED_TOTAL: Final = "derived.total"
DERIVED_PARAMETERS: Final = "derived.parameters"
DERIVED_DECLARED: Final = "derived.declared"
DERIVED_SCANNED: Final = "derived.scanned"
DERIVED_DATES: Final = "derived.dates"
DERIVED_PARTITION: Final = "derived.partition"
DERIVED_PARTITIONED_BY: Final = "derived.partitioned_by"
DERIVED_COMPUTED_BY: Final = "derived.computed_by"
DERIVED_COMPUTED_FROM: Final = "derived.computed_from"
DERIVED_FOLLOWS: Final = "derived.follows"
DERIVED_DIFFERS: Final = "derived.differs"
DERIVED_REPLACES_NEWER: Final = "derived.replaces_newer"
DERIVED_COLUMN_LINEAGE: Final = "derived.column_lineage"

# Of a rewrite whose snapshots bear no mark of their attempt (tables of version 3).
REWRITE_CLAIMED: Final = "rewrite.claimed"

# Of what came from outside the protocol: carried from seal to seal until one settles it; proven by maintenance.
FOREIGN_COMMITS: Final = "foreign.commits"
FOREIGN_REWRITES: Final = "foreign.rewrites"
FOREIGN_COLUMNS: Final = "foreign.columns"
FOREIGN_PROVEN: Final = "foreign.proven"

# Of a table that an asset writes by itself (`Lake.append`, `Lake.overwrite`).
WRITE_MODE: Final = "write.mode"
WRITE_ADDED: Final = "write.added"
WRITE_TOTAL: Final = "write.total"
WRITE_REPLACES_NEWER: Final = "write.replaces_newer"

# Of the pointer of a release.
RELEASE_CURRENT: Final = "release.current"
RELEASE_MEMBERS: Final = "release.members"
RELEASE_KEPT: Final = "release.kept"
RELEASE_TABLES: Final = "release.tables"
RELEASE_NEWEST: Final = "release.newest"
RELEASE_NEWEST_MEMBERS: Final = "release.newest_members"
RELEASE_MOVED_MS: Final = "release.moved_ms"

# Of the tables that the lakehouse writes about all others: audit log, statistics, decisions of maintenance, orphans.
JOURNAL_TABLES: Final = "journal.tables"
JOURNAL_RUNS: Final = "journal.runs"
STATISTICS_ADDED: Final = "statistics.added"
DECISIONS_ADDED: Final = "decisions.added"
ORPHANS_TABLE: Final = "orphans.table"
ORPHANS_ROWS: Final = "orphans.rows"
