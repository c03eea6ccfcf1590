"""Topics as external assets: Dagster makes none of them, and its graph shows the way from topic to release."""

from collections.abc import Iterable

from dagster import AssetKey, AssetSpec

from lakehouse.declarations import Stream
from lakehouse.orchestration.dagster_names import DEFAULT_NAMES, DagsterNames

PREFIX = "topic"


def topic_key(stream: Stream, names: DagsterNames = DEFAULT_NAMES) -> AssetKey:
    """The asset of a stream's topic: `topic/orders`."""
    return AssetKey([*names.prefix, PREFIX, stream.topic])


def topic_specs(streams: Iterable[Stream], names: DagsterNames = DEFAULT_NAMES) -> list[AssetSpec]:
    """One asset for each topic, in the group of the first stream that reads it."""
    specs: dict[AssetKey, AssetSpec] = {}
    for stream in streams:
        key = topic_key(stream, names)
        if key not in specs:
            specs[key] = AssetSpec(
                key,
                description=f"Kafka topic {stream.topic}, which others write. Stream {stream.name} reads it.",
                group_name=stream.name,
                kinds={"kafka"},
            )
    return list(specs.values())
