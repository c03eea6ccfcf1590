"""Reading a release: the pointer is resolved once, then every member is read at its tag, however slowly.

A tag is believed only if it names what was recorded when the release was made; and what is read is that snapshot, by
its id, so nothing that happens to the tag afterwards can show other rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import DataScan, Table
from pyspark.sql import DataFrame, SparkSession

from lakehouse.engines.spark.naming import rows_at
from lakehouse.iceberg.names import identifier_of
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.seals.history import head_of
from lakehouse.protocol.seals.read_group import Pinned
from lakehouse.steps.release.errors import ReleaseGone, ReleaseUnknown, TagMoved
from lakehouse.steps.release.names import tag_of
from lakehouse.steps.release.pointer import gone, load_pointer, members_of
from lakehouse.steps.release.statement import ReleaseMember


def _nobody(_name: str, _snapshot_id: int) -> None:
    return None


@dataclass(frozen=True)
class OpenRelease:
    """One release, resolved.

    Args:
        catalog: where its tables live.
        group: what was released.
        id: which release.
        members: its tables as they were recorded.
        on_read: is told table and snapshot of whatever is read.
    """

    catalog: LakeCatalog
    group: str
    id: str
    members: tuple[ReleaseMember, ...]
    on_read: Callable[[str, int], None] = _nobody

    @property
    def tag(self) -> str:
        """The tag that every member carries: `SELECT … FROM table VERSION AS OF '<tag>'`."""
        return tag_of(self.id)

    @property
    def tables(self) -> tuple[str, ...]:
        """Names of the members."""
        return tuple(member.table for member in self.members)

    def member(self, name: str) -> ReleaseMember:
        """What is recorded of a member.

        Raises:
            ReleaseUnknown: the release has no such member.
        """
        for member in self.members:
            if member.table == name:
                return member
        raise ReleaseUnknown(f"Release {self.id} has no table {name}.", remedy=f"use one of {', '.join(self.tables)}")

    def table(self, name: str) -> Pinned:
        """A member, pinned at what was released.

        Raises:
            ReleaseUnknown: the release has no such member.
            ReleaseGone: the release is no longer kept, or the member was dropped.
            TagMoved: the tag names something else than was released.
        """
        member = self.member(name)
        try:
            table = self.catalog.load_table(identifier_of(name))
        except NoSuchTableError as error:
            raise _dropped(self.id, name) from error
        require_tag(table, self.group, self.id, member, self.catalog)
        self.on_read(name, member.snapshot_id)
        return Pinned(table, member.snapshot_id)

    def scan(self, name: str, *columns: str) -> DataScan:
        """A PyIceberg scan of a member; raises as `table` does."""
        return self.table(name).scan(*columns)

    def arrow(self, name: str, *, columns: Sequence[str] = (), where: str | None = None) -> pa.Table:
        """A member, or some columns and rows of it, in memory; raises as `table` does."""
        scan = self.scan(name, *columns)
        return (scan.filter(where) if where else scan).to_arrow()

    def frame(self, spark: SparkSession, name: str) -> DataFrame:
        """A member as a Spark frame; raises as `table` does.

        The frame names the snapshot and not the tag: Spark looks both up anew on every action.
        """
        self.table(name)
        return rows_at(spark, name, self.member(name).snapshot_id)


def open_release(
    catalog: LakeCatalog,
    group: str,
    release_id: str | None = None,
    *,
    on_read: Callable[[str, int], None] = _nobody,
) -> OpenRelease:
    """Resolve a group's pointer, once; what is read from then on belongs together.

    Args:
        catalog: where the tables live.
        group: the declared group.
        release_id: an older release that is still kept; the current one if None.
        on_read: is told table and snapshot of whatever is read.

    Raises:
        NothingReleased: there is no release yet, or no such group.
        ReleaseUnknown: there never was a release of this id.
        ReleaseGone: it is no longer kept.
        SealBroken: the pointer's seal was changed after it was written.
        PointerDamaged: the pointer's table is not about releases.
    """
    pointer = load_pointer(catalog, group)
    release_id = release_id or pointer.current.current
    return OpenRelease(catalog, group, release_id, members_of(pointer, release_id), on_read)


def require_tag(table: Table, group: str, release_id: str, member: ReleaseMember, catalog: LakeCatalog) -> None:
    """Refuse a member whose tag does not name what was recorded.

    Raises:
        ReleaseGone: the table was created anew, or the tag was dropped.
        TagMoved: the tag names something else.
    """
    if str(table.metadata.table_uuid) != member.uuid:
        raise _dropped(release_id, member.table)
    tagged_snapshot = head_of(table, tag_of(release_id))
    if tagged_snapshot == member.snapshot_id:
        return
    if tagged_snapshot is not None:
        raise TagMoved(
            f"{member.table}: the tag {tag_of(release_id)} names snapshot {tagged_snapshot}, and "
            f"{member.snapshot_id} was released.",
            remedy="somebody moved it: set it back, or roll back to a release that is whole; `lakehouse audit` names "
            "every tag that is wrong",
        )
    kept = load_pointer(catalog, group).current.kept
    if release_id not in kept:
        raise gone(f"release.{group}", release_id, kept)
    raise TagMoved(
        f"{member.table}: the tag {tag_of(release_id)} was removed, though the release is kept.",
        remedy=f"set it again at snapshot {member.snapshot_id}, or roll back to a release that is whole; `lakehouse "
        "audit` names all that is wrong",
    )


def _dropped(release_id: str, name: str) -> ReleaseGone:
    return ReleaseGone(
        f"{name} was dropped after release {release_id} was made, so the release is not whole any more.",
        remedy="materialize the table and release again",
    )
