"""Which files one run takes, where there are more than it may read: as many as fit, the smallest first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakehouse.declarations import Rewrite
from lakehouse.steps.maintenance.rewrite.procedure import options_of
from lakehouse.steps.maintenance.rewrite.rewrite_size import portion

REWRITE = Rewrite(target_file_size=1024, min_file_size_ratio=0.5, max_file_size_ratio=2.0, max_group_bytes=10**6)


def taken(sizes: list[int], options: dict[str, str]) -> list[int]:
    """What the procedure may take at worst: of the files that it looks at, so many of the largest."""
    all_options = {**options_of(REWRITE), **options}
    small, large = int(all_options["min-file-size-bytes"]), int(all_options["max-file-size-bytes"])
    looked_at = [size for size in sizes if size < small or size > large]
    return sorted(looked_at, reverse=True)[: int(all_options["max-files-to-rewrite"])]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([100] * 50, [100] * 12),  # of one size: as many as fit
        ([400, 90, 80, 5000, 70, 410, 390], [390, 400, 90, 80, 70]),  # the smallest, and the large one never
        ([10, 20, *[300] * 9], [300] * 4),  # of one size: as many as fit, whichever are taken
        ([10, 20, 30, 40, 50, 300, *[500] * 9], [10, 20, 30, 40, 50, 300]),  # or none, where that is more
        ([3000, 5000], [5000]),  # too large alone: one after the other
        ([450, 450, 450], [450, 450]),
    ],
)
def test_what_fits_into_a_run_comes_first(sizes: list[int], expected: list[int]) -> None:
    assert sorted(taken(sizes, portion(sizes, REWRITE, 1200))) == sorted(expected)


@given(sizes=st.lists(st.integers(1, 5000), min_size=1, max_size=60), most=st.integers(1024, 20_000))
def test_no_more_is_taken_than_fits(sizes: list[int], most: int) -> None:
    """And always something: two small files, or one that is too large by itself."""
    chosen = taken(sizes, portion(sizes, REWRITE, most))
    wrong = [size for size in sizes if size < 512 or size > 2048]
    small = [size for size in wrong if size < 512]
    assert sum(chosen) <= most or len(chosen) == 1
    assert len(chosen) >= min(len(wrong), 2 if len(small) > 1 else 1)
