"""How many records a consumer takes up at once."""

from lakehouse.steps.ingest.workers.scan import poll_records
from lakehouse_tests.steps.ingest.test_plan import given_up, plan, topic


def test_from_far_off_a_run_stops_where_no_consumer_takes_up_what_was_given_up() -> None:
    log, hole = topic({0: (0, 90_000)}), 50_000
    for position, end, polled in (
        (0, 30_000, 20_000),
        (29_999, 30_000, 20_000),
        (30_000, 50_001, 1),
        (50_001, 90_000, 20_000),
    ):
        planned = plan(given_up({0: position}, {0: [(hole, hole + 1)]}), log)
        assert (planned.end, poll_records(planned)) == ({0: end}, polled)
    before = plan(given_up({0: 30_000}, {0: [(hole, hole + 1)]}), log, limit=9)
    assert (before.end, poll_records(before)) == ({0: 30_009}, 1)
