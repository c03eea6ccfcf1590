"""`lakehouse metrics` on a lake in which nothing was done yet."""

from prometheus_client.openmetrics.parser import text_string_to_metric_families

from lakehouse_tests.cli.conftest import Lakehouse


def test_it_is_whole_before_anything_was_read(lakehouse: Lakehouse) -> None:
    result = lakehouse("metrics")
    assert result.exit_code == 0, result.output
    assert result.stdout.endswith("# EOF\n")
    families = {family.name: family for family in text_string_to_metric_families(result.stdout)}
    assert families["lakehouse_stream_unread_offsets"].samples == [], "there is no broker to say"
    assert families["lakehouse_table_rows"].samples == []
    healthy = {sample.labels["stream"]: sample.value for sample in families["lakehouse_stream_healthy"].samples}
    assert healthy["flights"] == 1
