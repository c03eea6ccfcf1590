"""The streams that changelogs bring with them: those that share a name are read together."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from lakehouse.declarations.changelog import Changelog
from lakehouse.declarations.registry.broken import Contradiction
from lakehouse.declarations.stream import BySource, Stream


def change_streams(changelogs: Mapping[str, tuple[Changelog, Path]]) -> Iterable[tuple[Stream, Path]]:
    """One stream for all changelogs that share its name, with the file of the first.

    Args:
        changelogs: by name, each with the file that declares it.

    Raises:
        Contradiction: changelogs of one stream contradict each other, or do not say which source is whose.
    """
    groups: dict[str, list[tuple[Changelog, Path]]] = {}
    for log, file in changelogs.values():
        groups.setdefault(log.stream_name, []).append((log, file))
    for name, logs in groups.items():
        first, file = logs[0]
        _require_alike(name, logs)
        stream = Stream(
            name=name,
            topic=first.topic,
            route=BySource({log.source: log.name for log, _ in logs}),
            format=first.format,
            start=first.start,
            max_quarantine_share=first.max_quarantine_share,
            max_quarantine_records=first.max_quarantine_records,
            freshness=first.freshness,
            quarantine=first.quarantine,
            trigger=first.trigger,
        )
        yield stream, file


_ALIKE = (
    "topic",
    "format",
    "start",
    "max_quarantine_share",
    "max_quarantine_records",
    "freshness",
    "quarantine",
    "trigger",
)


def _require_alike(name: str, logs: list[tuple[Changelog, Path]]) -> None:
    first, _ = logs[0]
    for log, file in logs[1:]:
        for attribute in _ALIKE:
            if getattr(log, attribute) != getattr(first, attribute):
                raise Contradiction(
                    f"{file}: {log.name} and {first.name} share the stream {name} and differ in {attribute}.",
                    remedy=f"make {attribute} the same, or give each a stream of its own.",
                    streams=[name],
                )
    sources = [log.source for log, _ in logs]
    if len(logs) > 1 and (None in sources or len(set(sources)) < len(sources)):
        raise Contradiction(
            f"{logs[-1][1]}: the changelogs of stream {name} do not say which source table is whose.",
            remedy="give each its own source='schema.table'.",
            streams=[name],
        )
