import pytest
from tenacity import retry_if_exception_type, retry_if_result

from lakehouse.retry import pause, retrying


@pytest.mark.parametrize("longest", [0.05, 0.6])
def test_who_met_once_waits_from_a_tenth_to_all_of_it(monkeypatch: pytest.MonkeyPatch, longest: float) -> None:
    waits: list[float] = []
    monkeypatch.setattr("lakehouse.retry.time.sleep", waits.append)
    for _ in range(50):
        pause(longest)
    _require_jitter(waits, longest)


@pytest.mark.parametrize("longest", [0.05, 0.6])
def test_a_call_is_tried_again_after_such_a_wait(monkeypatch: pytest.MonkeyPatch, longest: float) -> None:
    waits: list[float] = []
    monkeypatch.setattr("tenacity.nap.time.sleep", waits.append)
    assert retrying(51, retry_if_result(lambda result: not result), longest=longest)(lambda: len(waits) == 50)
    assert len(waits) == 50
    _require_jitter(waits, longest)


def test_nothing_is_waited_for_between_tries_that_need_not() -> None:
    results = iter([False, True])
    policy = retrying(2, retry_if_result(lambda result: not result))
    assert policy(next, results)
    assert policy.statistics["idle_for"] == 0


def test_it_ends_as_the_last_try_did() -> None:
    results = iter([1, 2, 3])
    assert retrying(2, retry_if_result(lambda _: True))(next, results) == 2
    tries: list[int] = []

    def fail() -> None:
        tries.append(len(tries))
        raise ConnectionError(str(len(tries)))

    with pytest.raises(ConnectionError, match="3"):
        retrying(3, retry_if_exception_type(ConnectionError))(fail)
    with pytest.raises(ConnectionError, match="4"):
        retrying(3, retry_if_exception_type(TimeoutError))(fail)
    assert len(tries) == 4, "an error that is not such a one is not tried again"


def test_no_try_begins_after_its_time_and_each_wait_is_announced() -> None:
    tries: list[int] = []
    waits: list[int] = []

    def fail() -> None:
        tries.append(len(tries))
        raise ConnectionError

    for within in (0.0, 1000.0):
        with pytest.raises(ConnectionError):
            retrying(
                3,
                retry_if_exception_type(ConnectionError),
                within=within,
                before_sleep=lambda state: waits.append(state.attempt_number),
            )(fail)
    assert (len(tries), waits) == (1 + 3, [1, 2])


def _require_jitter(waits: list[float], longest: float) -> None:
    assert min(waits) >= longest / 10
    assert max(waits) <= longest
    assert len(set(waits)) > 1, "two that met would meet again"
