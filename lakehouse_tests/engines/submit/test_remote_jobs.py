"""A token names one try, in any service; what a service does not measure is not recorded."""

from lakehouse.engines.submit.remote_jobs import JobCost, LaunchToken


def test_a_token_is_read_as_it_was_written() -> None:
    token = LaunchToken("ingest_birds", "run-1", 2)
    assert LaunchToken.parse(str(token)) == token
    assert [LaunchToken.parse(text) for text in ("", "a", "a/b", "a/b/c", "a//1", "somebody else's")] == [None] * 6
    digests = {LaunchToken("ingest_birds", "run-1", number).digest for number in range(3)}
    assert {len(digest) for digest in digests} == {20}
    assert len(digests) == 3


def test_only_what_is_measured_is_recorded() -> None:
    assert JobCost().metadata() == {}
    assert JobCost(vcpu_hours=1 / 3, dpu_hours=0.0).metadata() == {"vCPU hours": 0.333333, "DPU hours": 0.0}
