"""Times of a metadata document that run backwards, as a writer with a slow clock leaves them."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

_TOLERATED_MS = 60_000  # between the clocks of two writers, as in Java


def contradictions_of_times(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Each as the end of a sentence, and what can be done about it; the document's own time ends both logs."""
    for log in ("snapshot-log", "metadata-log"):
        entries = document.get(log) or []
        times = [*(entry.get("timestamp-ms", 0) for entry in entries), document.get("last-updated-ms", 0)]
        for number, (earlier, later) in enumerate(pairwise(times), start=1):
            if later < earlier - _TOLERATED_MS:
                place = f"{log}[{number}].timestamp-ms" if number < len(entries) else "last-updated-ms"
                words = f"the times in its {log} run backwards by more than a minute"
                remedy = (
                    "nothing else is wrong in it, so no commit need be lost: set right the clock of whoever wrote it, "
                    f"then raise `{place}`, which is {later}, to {earlier} in a copy of the file, and put the copy in "
                    "its place"
                )
                yield words, remedy
