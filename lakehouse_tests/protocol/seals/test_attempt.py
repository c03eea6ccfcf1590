"""Whose a branch or a file is, told from its name alone."""

import time

from lakehouse.protocol.seals.attempt import Attempt, attempt_in, begun_ms, written_by_attempt


def test_a_branch_says_whose_it_is_and_since_when() -> None:
    before = time.time_ns() // 1_000_000
    attempt = Attempt(run_id="run", step="ingest:flights")
    for branch in (attempt.branch, attempt.rebase_branch(2)):
        assert attempt_in(branch) == attempt.id
        assert before <= begun_ms(branch) <= time.time_ns() // 1_000_000
    assert attempt.branch.startswith("lakehouse_attempt_ingest_flights_")
    assert (attempt_in("main"), begun_ms("main")) == ("", 0)


def test_another_try_has_a_branch_of_its_own() -> None:
    attempt = Attempt(run_id="run", step="ingest:flights")
    again = attempt.again()
    assert again.branch != attempt.branch
    assert (again.run_id, again.step) == (attempt.run_id, attempt.step)


def test_a_file_of_an_attempt_begins_with_its_id() -> None:
    attempt = Attempt(run_id="run", step="ingest:flights")
    assert written_by_attempt(f"s3://bucket/raw/flights/data/{attempt.id}-0-1.parquet")
    assert not written_by_attempt(f"s3://bucket/{attempt.id}-x/data/00000-0.parquet")
