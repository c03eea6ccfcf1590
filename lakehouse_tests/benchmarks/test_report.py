import pytest

from benchmarks.outputs import Output
from benchmarks.report import Run, disagreements, figures, markdown


def run(system: str, number: int, cpu: float, *, checksum: str = "a", case: str = "one", rows: int = 100) -> Run:
    output = Output(rows={"": rows}, commits=4, checksum=checksum, sums={})
    return Run(case, system, number, number < 0, seconds=cpu / 2, cpu_seconds=cpu, records=100, output=output)


RUNS = [
    run("ours", -1, 50),
    *(run("ours", number, cpu) for number, cpu in enumerate((1, 2, 100))),
    run("streaming", -1, 60),
    *(run("streaming", number, cpu) for number, cpu in enumerate((4, 4, 5))),
]


def test_figures_are_medians_of_the_measured_rounds() -> None:
    ours, streaming = figures(RUNS)
    assert (ours.per_cpu_second, ours.per_second) == (50, 100)
    assert streaming.per_cpu_second == 25
    assert streaming.ours_per_cpu_second == pytest.approx(2)
    assert "2.00 ×" in markdown([ours, streaming])


def test_systems_that_wrote_something_else_are_named() -> None:
    assert disagreements(RUNS) == []
    assert disagreements([*RUNS, run("connect", 0, 9, case="five", checksum="b")]) == []
    (message,) = disagreements([*RUNS, run("connect", 0, 9, checksum="b")])
    assert "connect round 0" in message
    (message,) = disagreements([*RUNS, run("connect", 1, 9, rows=99)])
    assert "99" in message
