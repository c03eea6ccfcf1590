"""Results name what was judged; a release that is held says all of its reasons."""

from lakehouse.steps.release.gate.results import Check, Reason, ReleaseHeld, Result, judged_by


def test_the_snapshots_that_results_name_are_known_by_member() -> None:
    checks = [
        Check("gold.a", "rules", (Result("passed", 7), Result("errored"), Result("failed", 5))),
        Check("gold.a", "freshness", (Result("passed", 8),)),
        Check("gold.b", "rules"),
    ]
    assert judged_by(checks) == {"gold.a": {5, 7, 8}, "gold.b": set()}


def test_each_reason_is_a_line_with_its_remedy() -> None:
    reasons = [
        Reason("gold.a", "it holds nothing yet", "materialize it"),
        Reason("gold.b", "it is old", "do it anew"),
    ]
    refusal = ReleaseHeld("daily", reasons)
    assert refusal.reasons == tuple(reasons)
    assert refusal.message.splitlines() == [
        "Release daily is held, for 2 reasons; readers keep the release that they have.",
        "- gold.a: it holds nothing yet. To repair: materialize it",
        "- gold.b: it is old. To repair: do it anew",
    ]
