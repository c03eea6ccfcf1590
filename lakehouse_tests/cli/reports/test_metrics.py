"""What a Prometheus is told: what seals and offsets say, and nothing that nobody can say."""

from prometheus_client.openmetrics.parser import text_string_to_metric_families

from lakehouse.cli.reports.metrics import exposition
from lakehouse.cli.reports.positions import MirrorState, StreamState
from lakehouse.cli.reports.table_states import LakeStates, TableState
from lakehouse.engines.kafka.statement import Counts, KafkaStatement

COUNTS = Counts(read=10, written=7, quarantined=2, filtered=1, bytes=9000)
STATES = LakeStates(
    tables=[
        TableState("raw.birds", "birds", exists=True, rows=7, committed_at="2026-11-25T10:00:00+00:00"),
        TableState("quarantine.birds", "birds", exists=True, rows=2),
        TableState("mirror.nests", None, exists=True, rows=None),
        TableState("raw.planned", "plans", exists=False),
    ],
    streams=[
        StreamState("birds", "sightings", {0: 10}, 5),
        StreamState("plans", "plans", None, None, problem="the topic is another one"),
    ],
    mirrors=[MirrorState("mirror.nests", "raw.nests", unmirrored=3, delay_seconds=1.5)],
    statements={
        "birds": KafkaStatement(
            "c", "sightings", "id", start={0: 0}, end={0: 10}, total_counts=COUNTS, valid_through_ms=1_500
        )
    },
)


def test_a_prometheus_reads_lag_records_rows_commits_and_mirrors() -> None:
    families = text_string_to_metric_families(exposition(STATES))
    samples = {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }
    assert samples == {
        ("lakehouse_stream_unread_offsets", "birds", "sightings"): 5,
        ("lakehouse_stream_healthy", "birds", "sightings"): 1,
        ("lakehouse_stream_healthy", "plans", "plans"): 0,
        ("lakehouse_stream_valid_through_timestamp_seconds", "birds"): 1.5,
        ("lakehouse_stream_records_total", "read", "birds"): 10,
        ("lakehouse_stream_records_total", "written", "birds"): 7,
        ("lakehouse_stream_records_total", "quarantined", "birds"): 2,
        ("lakehouse_stream_records_total", "filtered", "birds"): 1,
        ("lakehouse_stream_records_total", "tombstones", "birds"): 0,
        ("lakehouse_stream_records_total", "lost", "birds"): 0,
        ("lakehouse_table_rows", "raw.birds"): 7,
        ("lakehouse_table_rows", "quarantine.birds"): 2,
        ("lakehouse_table_last_commit_timestamp_seconds", "raw.birds"): 1795600800,
        ("lakehouse_mirror_waiting_changes", "mirror.nests"): 3,
        ("lakehouse_mirror_delay_seconds", "mirror.nests"): 1.5,
        ("lakehouse_mirror_healthy", "mirror.nests"): 1,
    }
