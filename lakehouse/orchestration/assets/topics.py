"""Topics as external assets: Dagster makes none of them, and its graph shows the way from topic to release."""

from collections.abc import Iterable

from dagster import AssetKey, AssetSpec

from lakehouse.declarations import Stream
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES, DagsterNames

PREFIX = "topic"


def topic_keys(stream: Stream, names: DagsterNames = DEFAULT_NAMES) -> list[AssetKey]:
    """The assets of a stream's topics: `topic/orders`; of a pattern, which has no names, `topic/pattern/<stream>`."""
    topics = [(topic,) for topic in stream.topic_names] or [("pattern", stream.name)]
    return [AssetKey([*names.prefix, PREFIX, *topic]) for topic in topics]


def topic_specs(streams: Iterable[Stream], names: DagsterNames = DEFAULT_NAMES) -> list[AssetSpec]:
    """One asset for each topic, in the group of the first stream that reads it."""
    specs: dict[AssetKey, AssetSpec] = {}
    for stream in streams:
        labels = stream.topic_names or (stream.topic,)
        for key, topic in zip(topic_keys(stream, names), labels, strict=True):
            if key not in specs:
                specs[key] = AssetSpec(
                    key,
                    description=f"Kafka topic {topic}, which others write. Stream {stream.name} reads it.",
                    group_name=stream.name,
                    kinds={"kafka"},
                )
    return list(specs.values())
