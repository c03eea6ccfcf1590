"""How a table is to be maintained, declared with it. What Iceberg has a word for becomes the table's property."""

import re
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Literal

from lakehouse.tables.error import DeclarationError

Strategy = Literal["auto", "binpack", "sort", "zorder"]
Layout = Literal["auto", "none", "hash", "range"]

MIB = 1024**2
DAY = timedelta(days=1)
KEEP_SNAPSHOTS = "lakehouse.publish.keep-snapshots"
_COLUMN = re.compile(r"\s*(\w+)(\s+(asc|desc))?(\s+nulls\s+(first|last))?\s*", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Rewrite:
    """Which data files are written anew, and how.

    Attributes:
        strategy: `binpack`, `sort` (by the table's sort order) or `zorder`; `auto` sorts where there is a sort order.
        zorder_by: columns, for `zorder`.
        target_file_size: bytes that a data file should have.
        min_file_size_ratio: a file below this share of the target is too small.
        max_file_size_ratio: a file above this multiple of the target is too large.
        min_input_files: so many files that are too small are worth a rewrite of their partition.
        delete_file_threshold: so many delete files that apply to a partition are worth one.
        delete_ratio_threshold: so is this share of its rows deleted.
        max_group_bytes: at most so many bytes in one action.
        to_format: `parquet`: files of other formats are written anew as well.
        quiet_for: a partition is left alone until its last change is older than this.
        every_commits: also after every so many appends, by the ingest itself.
        min_gain_per_mib: at least so many files fewer for each MiB that is written anew; by the default files of up to
            about 56 MiB are merged into files of 128.
        equality_writer_gone: whoever wrote equality deletes writes no more. Until then partitions that have some are
            left alone: one that is committed during a rewrite would be lost (iceberg #10312).
    """

    strategy: Strategy = "auto"
    zorder_by: tuple[str, ...] = ()
    target_file_size: int = 128 * MIB
    min_file_size_ratio: float = 0.75
    max_file_size_ratio: float = 1.8
    min_input_files: int = 5
    delete_file_threshold: int = 1
    delete_ratio_threshold: float = 0.3
    max_group_bytes: int = 2048 * MIB
    to_format: Literal["parquet"] | None = None
    quiet_for: timedelta = timedelta(minutes=15)
    every_commits: int | None = None
    min_gain_per_mib: float = 0.01
    equality_writer_gone: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot work.

        Raises:
            DeclarationError: says what and what to do.
        """
        _require(self.strategy in ("auto", "binpack", "sort", "zorder"), "Rewrite.strategy", self.strategy)
        _require((self.strategy == "zorder") == bool(self.zorder_by), "Rewrite.zorder_by", self.zorder_by)
        _require(self.target_file_size >= MIB // 1024, "Rewrite.target_file_size", self.target_file_size)
        _require(0 < self.min_file_size_ratio < 1, "Rewrite.min_file_size_ratio", self.min_file_size_ratio)
        _require(self.max_file_size_ratio > 1, "Rewrite.max_file_size_ratio", self.max_file_size_ratio)
        _require(self.min_input_files > 1, "Rewrite.min_input_files", self.min_input_files)
        _require(self.delete_file_threshold > 0, "Rewrite.delete_file_threshold", self.delete_file_threshold)
        _require(0 < self.delete_ratio_threshold <= 1, "Rewrite.delete_ratio_threshold", self.delete_ratio_threshold)
        _require(self.max_group_bytes >= self.target_file_size, "Rewrite.max_group_bytes", self.max_group_bytes)
        _require(self.to_format in (None, "parquet"), "Rewrite.to_format", self.to_format)
        _require(self.quiet_for >= timedelta(0), "Rewrite.quiet_for", self.quiet_for)
        _require(self.every_commits is None or self.every_commits > 0, "Rewrite.every_commits", self.every_commits)
        _require(self.min_gain_per_mib >= 0, "Rewrite.min_gain_per_mib", self.min_gain_per_mib)

    @property
    def min_file_size(self) -> int:
        """Bytes below which a file is too small: Iceberg's `min-file-size-bytes`."""
        return int(self.target_file_size * self.min_file_size_ratio)

    @property
    def max_file_size(self) -> int:
        """Bytes above which a file is too large: Iceberg's `max-file-size-bytes`."""
        return int(self.target_file_size * self.max_file_size_ratio)


@dataclass(frozen=True, kw_only=True)
class Manifests:
    """When manifests are regrouped.

    Attributes:
        min_count: so many manifests are worth it, if fewer would do.
        target_size: bytes that a manifest should have.
    """

    min_count: int = 30
    target_size: int = 8 * MIB

    def __post_init__(self) -> None:
        """Refuse what cannot work.

        Raises:
            DeclarationError: says what and what to do.
        """
        _require(self.min_count > 1, "Manifests.min_count", self.min_count)
        _require(self.target_size > 0, "Manifests.target_size", self.target_size)


@dataclass(frozen=True, kw_only=True)
class Expire:
    """Which snapshots are let go. What somebody holds, and the newest seal, stay in any case.

    Attributes:
        max_snapshot_age: older ones go.
        min_snapshots_to_keep: the newest ones, which stay whatever their age.
        max_snapshots: beyond so many, the oldest go whatever their age.
        at_least: fewer than so many are not worth a commit.
        lease_for: how long a mirror's or a derived table's hold on its input lasts without being renewed.
        lease_grace: how long after its end a lease is dropped; None warns of it and never drops it.
    """

    max_snapshot_age: timedelta = 5 * DAY
    min_snapshots_to_keep: int = 20
    max_snapshots: int = 50
    at_least: int = 10
    lease_for: timedelta = 7 * DAY
    lease_grace: timedelta | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot work.

        Raises:
            DeclarationError: says what and what to do.
        """
        _require(self.max_snapshot_age > timedelta(0), "Expire.max_snapshot_age", self.max_snapshot_age)
        # The newest snapshot after a rewrite is maintenance's own: with one, only that would be left.
        _require(self.min_snapshots_to_keep >= 2, "Expire.min_snapshots_to_keep", self.min_snapshots_to_keep)
        _require(self.max_snapshots >= self.min_snapshots_to_keep, "Expire.max_snapshots", self.max_snapshots)
        _require(self.at_least > 0, "Expire.at_least", self.at_least)
        _require(self.lease_for > timedelta(0), "Expire.lease_for", self.lease_for)
        _require(self.lease_grace is None or self.lease_grace >= timedelta(0), "Expire.lease_grace", self.lease_grace)


@dataclass(frozen=True, kw_only=True)
class Orphans:
    """Which files that no snapshot knows are removed.

    Attributes:
        older_than: younger ones are not looked at; never under a day.
        every: how often the files are listed.
        delete: whether they are deleted, or listed only.
    """

    older_than: timedelta = 3 * DAY
    every: timedelta = DAY
    delete: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot work.

        Raises:
            DeclarationError: says what and what to do.
        """
        _require(self.older_than >= DAY, "Orphans.older_than", self.older_than)
        _require(self.every > timedelta(0), "Orphans.every", self.every)


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """Numbers of distinct values for query planners (`compute_table_stats`).

    Attributes:
        columns: of which; of all if none is named.
        after_rows: when this share of the rows is new since the last time.
    """

    columns: tuple[str, ...] = ()
    after_rows: float = 0.1

    def __post_init__(self) -> None:
        """Refuse what cannot work.

        Raises:
            DeclarationError: says what and what to do.
        """
        _require(not isinstance(self.columns, str), "Statistics.columns", self.columns)
        _require(self.after_rows > 0, "Statistics.after_rows", self.after_rows)


@dataclass(frozen=True, kw_only=True)
class Deduplicate:
    """Which of several rows with the same key stays, in partitions that are closed.

    Attributes:
        order_by: such as `_kafka_offset desc`: the first of each key stays.
        closed_after: how long after its last change, and after its own end, a partition is closed.
    """

    order_by: tuple[str, ...]
    closed_after: timedelta = DAY

    def __post_init__(self) -> None:
        """Refuse what cannot work.

        Raises:
            DeclarationError: says what and what to do.
        """
        _require(bool(self.order_by) and not isinstance(self.order_by, str), "Deduplicate.order_by", self.order_by)
        for text in self.order_by:
            _require(_COLUMN.fullmatch(text) is not None, "Deduplicate.order_by", text)
        _require(self.closed_after >= timedelta(0), "Deduplicate.closed_after", self.closed_after)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of `order_by`, without their directions."""
        return tuple(text.split()[0] for text in self.order_by)


@dataclass(frozen=True, kw_only=True)
class Maintenance:
    """How a table is maintained; a part that is None is never done.

    Attributes:
        rewrite: of data files.
        manifests: regrouping of manifests.
        expire: of snapshots.
        orphans: removal of files that no snapshot knows.
        statistics: for query planners.
        deduplicate: of rows with the same key.
        layout: how writers distribute rows (`write.distribution-mode`); `auto` chooses from what was measured.
        excluded: a reason: nothing at all is done, and each decision says why.
    """

    rewrite: Rewrite | None = field(default_factory=Rewrite)
    manifests: Manifests | None = field(default_factory=Manifests)
    expire: Expire | None = field(default_factory=Expire)
    orphans: Orphans | None = field(default_factory=Orphans)
    statistics: Statistics | None = None
    deduplicate: Deduplicate | None = None
    layout: Layout = "auto"
    excluded: str = ""

    def __post_init__(self) -> None:
        """Refuse what cannot work.

        Raises:
            DeclarationError: says what and what to do.
        """
        _require(self.layout in ("auto", "none", "hash", "range"), "Maintenance.layout", self.layout)

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that is named."""
        return (
            *(self.rewrite.zorder_by if self.rewrite else ()),
            *(self.statistics.columns if self.statistics else ()),
            *(self.deduplicate.columns if self.deduplicate else ()),
        )

    def without_columns(self) -> "Maintenance":
        """The same for a table that comes along with another one and has other columns."""
        plain = replace(self.rewrite, strategy="auto", zorder_by=()) if self.rewrite else None
        return replace(self, rewrite=plain, statistics=None, deduplicate=None)


def maintenance_properties(policy: Maintenance) -> dict[str, str]:
    """What of a policy Iceberg has a property for, so that other tools find the same numbers."""
    properties: dict[str, str] = {}
    if policy.rewrite is not None:
        properties["write.target-file-size-bytes"] = str(policy.rewrite.target_file_size)
    if policy.manifests is not None:
        properties["commit.manifest.min-count-to-merge"] = str(policy.manifests.min_count)
        properties["commit.manifest.target-size-bytes"] = str(policy.manifests.target_size)
    if policy.expire is not None:
        properties["history.expire.max-snapshot-age-ms"] = str(
            policy.expire.max_snapshot_age // timedelta(milliseconds=1)
        )
        properties["history.expire.min-snapshots-to-keep"] = str(policy.expire.min_snapshots_to_keep)
        # Publishing trims entries too, where nobody maintains. What it trims no expiry can free: so at twice as many.
        properties[KEEP_SNAPSHOTS] = str(2 * policy.expire.max_snapshots)
    return properties


def _require(holds: bool, what: str, value: object) -> None:  # noqa: FBT001 - it reads as an assertion
    if not holds:
        raise DeclarationError(
            f"{what} is {value!r}, which cannot work.", remedy="docs/maintenance.md tells what it may be."
        )
