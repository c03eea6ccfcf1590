"""Offsets as runs: which are there more than once, and which are not there, in memory that grows with the runs alone.

A writer puts mostly consecutive offsets of a partition into a file. So a file of a million rows is a few numbers, and
tables of any size are compared while one of their files is in memory.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

Offsets = npt.NDArray[np.int64]


class Span(NamedTuple):
    """Offsets from `start` up to, not including, `end`."""

    start: int
    end: int

    def __str__(self) -> str:
        return str(self.start) if self.end == self.start + 1 else f"[{self.start}, {self.end})"


class Repetition(NamedTuple):
    """Offsets that `times` rows have each, and the files in which these are."""

    span: Span
    times: int
    files: frozenset[int]


@dataclass(frozen=True)
class Runs:
    """Runs of consecutive offsets of one partition; several may overlap.

    Attributes:
        starts: the first offset of each run.
        ends: the first offset after each.
        times: how many rows have each of its offsets.
        files: number of the file that each is in.
    """

    starts: Offsets
    ends: Offsets
    times: Offsets
    files: Offsets

    @classmethod
    def of(cls, offsets: Offsets, file: int) -> "Runs":
        """The offsets of a file's rows, in any order."""
        values, times = np.unique(offsets, return_counts=True)
        if not len(values):
            return cls(*(np.array([], np.int64),) * 4)
        breaks = np.flatnonzero((np.diff(values) != 1) | (np.diff(times) != 0)) + 1
        firsts = np.concatenate([[0], breaks]).astype(np.int64)
        lasts = np.concatenate([breaks - 1, [len(values) - 1]]).astype(np.int64)
        return cls(
            values[firsts], values[lasts] + 1, times[firsts].astype(np.int64), np.full(len(firsts), file, np.int64)
        )

    @classmethod
    def together(cls, runs: Iterable["Runs"]) -> "Runs":
        """Those of several files."""
        parts = [cls.of(np.array([], np.int64), 0), *runs]
        return cls(
            np.concatenate([part.starts for part in parts]),
            np.concatenate([part.ends for part in parts]),
            np.concatenate([part.times for part in parts]),
            np.concatenate([part.files for part in parts]),
        )

    def numbered_from(self, first: int) -> "Runs":
        """The same, with the numbers of files counted on from another one."""
        return replace(self, files=self.files + first)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(((self.ends - self.starts) * self.times).sum())

    def repeated(self) -> list[Repetition]:
        """The offsets that more than one row has."""
        return [Repetition(span, times, self._files_in(span)) for span, times in self._levels() if times > 1]

    def missing(self, within: Span) -> list[Span]:
        """The offsets of a span that no row has."""
        spans, position = list[Span](), within.start
        for span, times in self._levels():
            if times and span.end > position:
                if span.start > position:
                    spans.append(Span(position, min(span.start, within.end)))
                position = span.end
            if position >= within.end:
                break
        if position < within.end:
            spans.append(Span(position, within.end))
        return [span for span in spans if span.start < span.end]

    def bounds(self) -> Span | None:
        """From the lowest to the highest offset; None where there is none."""
        return Span(int(self.starts.min()), int(self.ends.max())) if len(self.starts) else None

    def _levels(self) -> Iterator[tuple[Span, int]]:
        """Consecutive spans, each with the number of rows that every one of its offsets has."""
        edges = np.concatenate([self.starts, self.ends])
        steps = np.concatenate([self.times, -self.times])
        positions, index = np.unique(edges, return_inverse=True)
        depths = np.cumsum(np.bincount(index, weights=steps, minlength=len(positions))).astype(np.int64)
        changes = np.flatnonzero(np.diff(depths, prepend=0))  # where one run ends and the next begins nothing changes
        positions, depths = positions[changes], depths[changes]
        for position, end, depth in zip(positions, positions[1:], depths, strict=False):
            yield Span(int(position), int(end)), int(depth)

    def _files_in(self, span: Span) -> frozenset[int]:
        inside = (self.starts < span.end) & (self.ends > span.start)
        return frozenset(cast("list[int]", np.unique(self.files[inside]).tolist()))


def some(spans: Iterable[Span], shown: int = 10) -> str:
    """Spans for a person: the first of them, and how many more there are."""
    texts = [str(span) for span in spans]
    more = f" and {len(texts) - shown} more" if len(texts) > shown else ""
    return ", ".join(texts[:shown]) + more
