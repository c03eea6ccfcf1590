"""When an ingest does not go ahead: the doubtful range and the remedy are named, and nothing is lost by refusing."""

from collections.abc import Mapping, Sequence

from lakehouse.engines.kafka.several_topics.topic_numbers import TopicNumbers
from lakehouse.errors import LakehouseError

Ranges = Mapping[int, tuple[int, int]]


def shown(ranges: Ranges, numbers: TopicNumbers | None = None) -> str:
    """Ranges for a person: `partition 2 offsets [100, 250)`, and of several topics `partition orders:2 …`."""
    return ", ".join(
        f"partition {partition if numbers is None else numbers.label(partition)} offsets [{start}, {end})"
        for partition, (start, end) in sorted(ranges.items())
    )


class IngestRefused(LakehouseError):
    """The stored position and the topic do not fit together."""

    def __init__(self, message: str, *, remedy: str, ranges: Ranges | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.ranges: dict[int, tuple[int, int]] = dict(ranges or {})


class LocationShared(IngestRefused):
    """Two tables of a stream would have their files under the same names in one folder."""

    def __init__(self, table: str, other: str, location: str) -> None:
        super().__init__(
            f"{table} and {other} have one location, {location}: files of one would take the names of the other's.",
            remedy="if somebody edited the metadata of one, let the catalog name an older document of its "
            "metadata log, or restore it from a backup; else drop one of the two without purging it, and make it "
            "anew elsewhere",
        )


class RetentionOvertook(IngestRefused):
    """Records were deleted by retention before they were read."""

    def __init__(self, stream: str, topic: str, ranges: Ranges, numbers: TopicNumbers | None = None) -> None:
        super().__init__(
            f"Stream {stream}: retention of topic {topic} overtook the stored position; lost: "
            f"{shown(ranges, numbers)}.",
            remedy=f"restore them, or accept the loss with `lakehouse accept-loss {stream} --yes`, which seals it",
            ranges=ranges,
        )


class TopicRecreated(IngestRefused):
    """The topic has another id than the one that was read."""

    def __init__(
        self, stream: str, topic: str, was: str, now: str, ranges: Ranges, numbers: TopicNumbers | None = None
    ) -> None:
        super().__init__(
            f"Stream {stream}: topic {topic} was recreated (topic id {was} became {now}); stored position in doubt: "
            f"{shown(ranges, numbers)}.",
            remedy="point the stream at the right topic, or begin anew with "
            f"`lakehouse accept-loss {stream} --new-epoch --yes`",
            ranges=ranges,
        )


class ClusterChanged(IngestRefused):
    """The brokers belong to another cluster than the one that was read."""

    def __init__(self, stream: str, topic: str, was: str, now: str, ranges: Ranges) -> None:
        super().__init__(
            f"Stream {stream}: topic {topic} is on another cluster (id {was} became {now}); stored position in doubt: "
            f"{shown(ranges)}.",
            remedy="correct conf/kafka, or begin anew on this cluster with "
            f"`lakehouse accept-loss {stream} --new-epoch --yes`",
            ranges=ranges,
        )


class PositionBeyondEnd(IngestRefused):
    """The log ends before the stored position: it was truncated, or an unclean leader lost records."""

    def __init__(self, stream: str, topic: str, ranges: Ranges, numbers: TopicNumbers | None = None) -> None:
        super().__init__(
            f"Stream {stream}: the log of topic {topic} ends before the stored position; in doubt: "
            f"{shown(ranges, numbers)}.",
            remedy="find out why it was truncated: new records may have taken the offsets of old ones. Then "
            f"`lakehouse accept-loss {stream} --new-epoch --yes`",
            ranges=ranges,
        )


class LogTruncated(IngestRefused):
    """Another leader cut the log below the stored position, and other records have taken the offsets since."""

    def __init__(self, stream: str, topic: str, ranges: Ranges, numbers: TopicNumbers | None = None) -> None:
        super().__init__(
            f"Stream {stream}: another leader has cut the log of topic {topic} below the stored position, and it was "
            f"filled again; in doubt: {shown(ranges, numbers)}.",
            remedy="find out which replica took the lead (unclean leader election): the new records at these offsets "
            f"were never read. Then `lakehouse accept-loss {stream} --new-epoch --yes` goes on from the position",
            ranges=ranges,
        )


class PartitionsVanished(IngestRefused):
    """The topic has fewer partitions than were read."""

    def __init__(self, stream: str, topic: str, ranges: Ranges, numbers: TopicNumbers | None = None) -> None:
        super().__init__(
            f"Stream {stream}: topic {topic} lost partitions that were read before: {shown(ranges, numbers)}.",
            remedy="Kafka never removes partitions, so this is another topic: correct the stream, or "
            f"`lakehouse accept-loss {stream} --new-epoch --yes`",
            ranges=ranges,
        )


class RowsWithoutSeal(IngestRefused):
    """A table holds rows and does not say where they came from."""

    def __init__(self, stream: str, tables: Sequence[str]) -> None:
        super().__init__(
            f"Stream {stream}: {', '.join(tables)} holds rows but no seal, so the position is unknown; it is never "
            "taken to be offset 0.",
            remedy=f"adopt the rows with `lakehouse adopt {stream} --from earliest|latest|rows --yes`, or empty it",
        )


class TableEmptied(IngestRefused):
    """A table has no seal and no rows, where the seals of its siblings account for rows in it."""

    def __init__(self, stream: str, rows: Mapping[str, int]) -> None:
        lost_rows = ", ".join(f"{count} rows of {table}" for table, count in sorted(rows.items()))
        super().__init__(
            f"Stream {stream}: seals account for {lost_rows}, which holds none: it was dropped and made anew, or "
            "emptied.",
            remedy=f"restore it, or give these rows up with `lakehouse adopt {stream} --from rows --yes`; to read all "
            "of the topic again, drop every table of the stream and its quarantine",
        )


class UnsealedCommit(IngestRefused):
    """Somebody wrote to a table of the stream outside the protocol, after the last seal."""

    def __init__(self, stream: str, commits: Mapping[str, Sequence[int]]) -> None:
        snapshots = "; ".join(
            f"{table}: snapshot(s) {', '.join(map(str, ids))}" for table, ids in sorted(commits.items())
        )
        super().__init__(
            f"Stream {stream}: commits that no seal accounts for came after the last one ({snapshots}).",
            remedy=f"roll the table back to its last seal, or adopt what it holds now with `lakehouse adopt {stream} "
            "--from rows --yes`",
        )


class PublishStopped(IngestRefused):
    """A publish stopped between two tables, of a catalog that changes one after another."""

    def __init__(self, stream: str, stopped: str) -> None:
        super().__init__(
            f"Stream {stream}: {stopped}.",
            remedy="let its next run complete that (`lakehouse run`), then say the same again",
        )


class PositionsDiffer(IngestRefused):
    """The tables of one stream do not stand at the same position."""

    def __init__(
        self, stream: str, positions: Mapping[str, Mapping[int, int]], reprocessed: Mapping[str, int] | None = None
    ) -> None:
        """The tables stand so, and by the seal of each so many records were reprocessed."""
        counts = {table: f" with {count} records reprocessed" for table, count in (reprocessed or {}).items()}
        standings = "; ".join(
            f"{table} at {dict(sorted(ends.items()))}{counts.get(table, '')}"
            for table, ends in sorted(positions.items())
        )
        super().__init__(
            f"Stream {stream}: its tables stand at different positions, so one was rolled back alone: {standings}.",
            remedy="roll the other tables back to the same run as well (`lakehouse tables` shows runs), or this one "
            "forward",
        )


class StartNotInLog(IngestRefused):
    """The declared first offsets are not in the topic."""

    def __init__(self, stream: str, topic: str, ranges: Ranges, numbers: TopicNumbers | None = None) -> None:
        super().__init__(
            f"Stream {stream}: the declared start is outside the log of topic {topic}: {shown(ranges, numbers)}.",
            remedy="declare offsets between the topic's earliest and end, for partitions that exist",
            ranges=ranges,
        )


class OffsetsSkipped(IngestRefused):
    """A stream that has a position would go on behind offsets that no run has read."""

    def __init__(self, stream: str, topic: str, ranges: Ranges, *, go_on_from: str) -> None:
        super().__init__(
            f"Stream {stream}: to go on there would skip {shown(ranges)} of topic {topic}, and no audit would know of "
            "it; nothing was changed.",
            remedy=f"adopt with `--from {go_on_from}`; then give up what is not to be read, or is gone, with "
            f"`lakehouse accept-loss {stream}`, which puts it on record",
            ranges=ranges,
        )
