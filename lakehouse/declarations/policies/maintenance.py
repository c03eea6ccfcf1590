"""How a table is to be maintained, declared with it. What Iceberg has a word for becomes the table's property."""

from dataclasses import InitVar, dataclass, field, replace
from datetime import timedelta
from typing import Literal

from lakehouse.declarations.policies import policy_rules as may

Strategy = Literal["auto", "binpack", "sort", "zorder"]
Layout = Literal["auto", "none", "hash", "range"]

MIB = 1024**2
DAY = timedelta(days=1)
KEEP_SNAPSHOTS = "lakehouse.publish.keep-snapshots"
_ZORDERED = may.FieldRule(
    "a tuple of names of columns, not empty, for the strategy 'zorder'",
    lambda value: may.NAMES.holds(value) and bool(value),
)
_NOT_ZORDERED = may.FieldRule("() but for the strategy 'zorder'", lambda value: value == ())


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
    equality_writer_gone: bool = False
    min_gain_per_mib: InitVar[float | None] = None

    def __post_init__(self, min_gain_per_mib: float | None) -> None:
        """Refuse what cannot work.

        Raises:
            DeclarationError: says what and what to do.
        """
        may.require(
            self,
            strategy=may.one_of("auto", "binpack", "sort", "zorder"),
            zorder_by=_ZORDERED if self.strategy == "zorder" else _NOT_ZORDERED,
            target_file_size=may.size(MIB // 1024),
            min_file_size_ratio=may.number("above 0 and below 1", lambda value: 0 < value < 1),
            max_file_size_ratio=may.number("above 1", lambda value: value > 1),
            min_input_files=may.whole(2),
            delete_file_threshold=may.whole(1),
            delete_ratio_threshold=may.number("above 0 and at most 1", lambda value: 0 < value <= 1),
            max_group_bytes=may.size(self.target_file_size, also=" (target_file_size)"),
            to_format=may.one_of("parquet") | may.NONE,
            quiet_for=may.time(),
            every_commits=may.whole(1) | may.NONE,
            equality_writer_gone=may.FLAG,
        )
        if min_gain_per_mib is not None:
            may.warn_of_gone(
                "Rewrite.min_gain_per_mib",
                "a rewrite is due where a threshold is passed and half of the files would go",
            )

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
        may.require(self, min_count=may.whole(2), target_size=may.size(1))


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
        may.require(
            self,
            max_snapshot_age=may.some_time(),
            # The newest snapshot after a rewrite is maintenance's own: with one, only that would be left.
            min_snapshots_to_keep=may.whole(2),
            max_snapshots=may.whole(self.min_snapshots_to_keep, also=" (min_snapshots_to_keep)"),
            at_least=may.whole(1),
            lease_for=may.some_time(),
            lease_grace=may.time() | may.NONE,
        )


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
        may.require(self, older_than=may.time(at_least=DAY), every=may.some_time(), delete=may.FLAG)


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
        may.require(self, columns=may.NAMES, after_rows=may.number("above 0", lambda value: value > 0))


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
        may.require(self, order_by=may.ORDER, closed_after=may.time())

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
        may.require(
            self,
            rewrite=may.made_of(Rewrite),
            manifests=may.made_of(Manifests),
            expire=may.made_of(Expire),
            orphans=may.made_of(Orphans),
            statistics=may.made_of(Statistics),
            deduplicate=may.made_of(Deduplicate),
            layout=may.one_of("auto", "none", "hash", "range"),
            excluded=may.TEXT,
        )

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
