"""What a sensor says of a stream's freshness is told once, and told again when it changes."""

import dagster as dg
import pytest

from lakehouse.orchestration.checks.stream.freshness import NAME
from lakehouse.orchestration.checks.stream.verdict import StreamCursor, Verdict, evaluation_of

KEY = dg.AssetKey(["raw", "birds"])
RESULT = dg.AssetCheckResult(
    asset_key=KEY,
    check_name=NAME,
    passed=False,
    severity=dg.AssetCheckSeverity.WARN,
    description="no broker answers",
    metadata={"lag": 3},
)


@pytest.mark.parametrize(
    "cursor", [StreamCursor(), StreamCursor("a"), StreamCursor("", "late"), StreamCursor("a", "b")]
)
def test_a_cursor_is_read_as_it_was_written(cursor: StreamCursor) -> None:
    assert StreamCursor.of(cursor.cursor()) == cursor


def test_a_cursor_of_an_earlier_version_is_a_position() -> None:
    assert StreamCursor.of("abc") == StreamCursor("abc", "")
    assert StreamCursor.of(None) == StreamCursor()


def test_what_was_told_is_not_asked_for_again() -> None:
    asked: list[None] = []

    def results() -> list[dg.AssetCheckResult]:
        asked.append(None)
        return [RESULT]

    verdict = Verdict("BrokerUnreachable", results)
    assert verdict.events(StreamCursor(state="BrokerUnreachable")) == []
    assert asked == [], "nor is the broker"
    for before in ("", "late", "TopicMissing"):
        [event] = verdict.events(StreamCursor(state=before))
        assert not event.passed


def test_an_evaluation_says_what_the_result_says() -> None:
    event = evaluation_of(RESULT)
    assert (event.asset_key, event.check_name, event.passed) == (KEY, NAME, False)
    assert (event.severity, event.description) == (dg.AssetCheckSeverity.WARN, "no broker answers")
    assert event.metadata["lag"] == dg.MetadataValue.int(3)
