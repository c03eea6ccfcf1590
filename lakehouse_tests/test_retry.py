import pytest

from lakehouse.retry import pause


@pytest.mark.parametrize("longest", [0.05, 0.6])
def test_who_met_once_waits_from_a_tenth_to_all_of_it(monkeypatch: pytest.MonkeyPatch, longest: float) -> None:
    waits: list[float] = []
    monkeypatch.setattr("lakehouse.retry.time.sleep", waits.append)
    for _ in range(50):
        pause(longest)
    assert min(waits) >= longest / 10
    assert max(waits) <= longest
    assert len(set(waits)) > 1, "two that met would meet again"
