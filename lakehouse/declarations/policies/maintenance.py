"""How a table is to be maintained, declared with it. What Iceberg has a word for becomes the table's property."""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Literal

from lakehouse.declarations.policies import policy_rules as may
from lakehouse.declarations.policies.rewrite import MIB, Rewrite

Layout = Literal["auto", "none", "hash", "range"]

DAY = timedelta(days=1)
KEEP_SNAPSHOTS = "lakehouse.publish.keep-snapshots"


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
        max_snapshots: beyond so many, the oldest go; None: `max_snapshot_age` alone decides.
        at_least: fewer than so many are not worth a commit.
        lease_for: how long a mirror's or a derived table's hold on its input lasts without being renewed.
        lease_grace: how long after its end a lease is dropped; None warns of it and never drops it.
    """

    max_snapshot_age: timedelta = 5 * DAY
    min_snapshots_to_keep: int = 20
    max_snapshots: int | None = None
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
            max_snapshots=may.whole(self.min_snapshots_to_keep, also=" (min_snapshots_to_keep)") | may.NONE,
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
        if policy.expire.max_snapshots is not None:
            # Publishing trims entries too, where nobody maintains. What it trims no expiry can free: so at twice that.
            properties[KEEP_SNAPSHOTS] = str(2 * policy.expire.max_snapshots)
    return properties
