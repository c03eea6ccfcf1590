"""The state of the lake as OpenMetrics: what seals say, and the offsets beyond. Nothing is measured for it."""

from collections.abc import Iterable, Iterator
from datetime import datetime

import msgspec
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.registry import Collector, CollectorRegistry
from typing_extensions import override

from lakehouse.cli.reports.positions import MirrorState
from lakehouse.cli.reports.table_states import LakeStates

_OUTCOMES = {"read", "written", "quarantined", "filtered", "tombstones", "lost"}
_Sample = tuple[tuple[str, ...], float | None]


def exposition(states: LakeStates) -> str:
    """The text that a Prometheus reads, in the format of OpenMetrics 1.0; what nobody can say is left out."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Lake(states))
    return generate_latest(registry).decode()


class _Lake(Collector):
    def __init__(self, states: LakeStates) -> None:
        self._states = states

    @override
    def collect(self) -> Iterable[Metric]:
        """One family for each thing that is told."""
        yield from (*_streams(self._states), *_tables(self._states), *_mirrors(self._states.mirrors))


def _streams(states: LakeStates) -> Iterator[Metric]:
    name = ("stream", "topic")
    yield _gauge(
        "lakehouse_stream_unread_offsets",
        "Offsets of the topic that the stream has not read: its lag.",
        name,
        [((state.stream, state.topic), state.unread) for state in states.streams],
    )
    yield _gauge(
        "lakehouse_stream_healthy",
        "1 where the stream can go on, 0 where tables and topic contradict each other.",
        name,
        [((state.stream, state.topic), 0 if state.problem else 1) for state in states.streams],
    )
    yield _gauge(
        "lakehouse_stream_valid_through_timestamp_seconds",
        "Until when the tables are known to hold all that was sent.",
        ("stream",),
        [((stream,), s.valid_through_ms / 1000 or None) for stream, s in sorted(states.statements.items())],
    )
    records = CounterMetricFamily(
        "lakehouse_stream_records",
        "Kafka records since the beginning, by what became of them.",
        labels=("stream", "outcome"),
    )
    for stream, statement in sorted(states.statements.items()):
        for outcome, count in msgspec.structs.asdict(statement.total_counts).items():
            if outcome in _OUTCOMES:
                records.add_metric((stream, outcome), count)
    yield records


def _tables(states: LakeStates) -> Iterator[Metric]:
    existing = [state for state in states.tables if state.exists]
    yield _gauge(
        "lakehouse_table_rows",
        "Rows that a reader sees; a quarantine table's are the refused records.",
        ("table",),
        [((state.table,), state.rows) for state in existing],
    )
    yield _gauge(
        "lakehouse_table_last_commit_timestamp_seconds",
        "When the current snapshot was committed.",
        ("table",),
        [((state.table,), _seconds(state.committed_at)) for state in existing],
    )


def _mirrors(mirrors: Iterable[MirrorState]) -> Iterator[Metric]:
    states = list(mirrors)
    yield _gauge(
        "lakehouse_mirror_waiting_changes",
        "Changes of the changelog that are not in the mirror.",
        ("mirror",),
        [((state.mirror,), state.unmirrored) for state in states],
    )
    yield _gauge(
        "lakehouse_mirror_delay_seconds",
        "From Kafka's timestamp of the newest change until it was in the mirror.",
        ("mirror",),
        [((state.mirror,), state.delay_seconds) for state in states],
    )
    yield _gauge(
        "lakehouse_mirror_healthy",
        "1 where the mirror can go on, 0 where its next run will refuse.",
        ("mirror",),
        [((state.mirror,), 0 if state.problem else 1) for state in states],
    )


def _gauge(name: str, text: str, labels: tuple[str, ...], samples: Iterable[_Sample]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=labels)
    for values, value in samples:
        if value is not None:
            family.add_metric(values, value)
    return family


def _seconds(moment: str | None) -> float | None:
    return None if moment is None else datetime.fromisoformat(moment).timestamp()
