"""What the mirror's benchmark prints: a row for each batch, size and system, theirs as a multiple of ours."""

from benchmarks.mirror.__main__ import Merge, markdown


def _merge(system: str, size: int, *, written: int, cpu: float) -> Merge:
    return Merge("scattered", size, system, 1, 9.0, cpu, written, 1_000, 2.0, 3.0, "rows", "")


def test_each_size_is_compared_with_itself() -> None:
    merges = [
        _merge("ours", 100, written=2_000, cpu=4.0),
        _merge("samples", 100, written=90_000, cpu=8.0),
        _merge("ours", 10_000, written=1_000, cpu=5.0),
        _merge("samples", 10_000, written=3_000, cpu=5.0),
    ]
    assert markdown(merges).splitlines()[2:] == [
        "| scattered | 100 | ours | 2.00 | 4.00 | 2.00 | 3.00 |",
        "| scattered | 100 | aws-samples' form | 90.00 (45.00 ×) | 8.00 (2.00 ×) | 2.00 (1.00 ×) | 3.00 (1.00 ×) |",
        "| scattered | 10,000 | ours | 1.00 | 5.00 | 2.00 | 3.00 |",
        "| scattered | 10,000 | aws-samples' form | 3.00 (3.00 ×) | 5.00 (1.00 ×) | 2.00 (1.00 ×) | 3.00 (1.00 ×) |",
    ]
