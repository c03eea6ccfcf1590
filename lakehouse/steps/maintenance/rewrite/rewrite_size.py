"""Which files of a partition come first, where it holds more than one run may read.

Spark takes files by their sizes and counts them, so the bounds of its procedure are set to what fits: the smallest
first, since they are most files for the fewest bytes; where none are too small, as many as fit whichever they are.
"""

from collections.abc import Sequence
from itertools import accumulate

from lakehouse.declarations import Rewrite

_FEWEST = 2  # one small file alone would only become another one
_NEVER = 2**31 - 1


def portion(sizes: Sequence[int], rewrite: Rewrite, max_bytes: int) -> dict[str, str]:
    """Options that let the procedure take files of so many bytes together, instead of all it would take.

    Args:
        sizes: of the data files that there are.
        rewrite: the policy.
        max_bytes: of the files together; two small files, or one of another kind, are taken even if they are more.
    """
    small = sorted(size for size in sizes if size < rewrite.min_file_size)
    if len(small) < _FEWEST:
        return {"max-files-to-rewrite": str(max(_fitting(sorted(sizes, reverse=True), max_bytes), 1))}
    count = max(_fitting(small, max_bytes), _FEWEST)
    below = small[count] if count < len(small) else rewrite.min_file_size
    if below == small[count - 1]:  # the procedure cannot tell files of one size apart
        smaller, any_of_them = sum(1 for size in small if size < below), max(max_bytes // below, _FEWEST)
        count, below = (smaller, below) if smaller >= any_of_them else (any_of_them, below + 1)
    return {
        "max-files-to-rewrite": str(count),
        "min-file-size-bytes": str(below),
        # The others, however large and whatever is deleted of them, are for a later run.
        "max-file-size-bytes": str(max(rewrite.max_file_size, *sizes) + 1),
        "min-input-files": str(_FEWEST),
        "delete-file-threshold": str(_NEVER),
        "delete-ratio-threshold": "1.0",
    }


def _fitting(sizes: Sequence[int], max_bytes: int) -> int:
    """How many of them fit, from the first on."""
    return sum(1 for together in accumulate(sizes) if together <= max_bytes)
