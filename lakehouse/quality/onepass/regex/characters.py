r"""Sets of characters, as RE2 understands them, spelled out so that Java cannot understand them otherwise.

Java's shorthands differ from RE2's in a character or two: `.` stops at more line ends, `\s` holds the vertical tab,
`(?i)` leaves the Kelvin sign alone. A list of code points means the same to both.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_LAST = 0x10FFFF
# Halves of a pair: no text holds one, but Java would look for a match between two of them.
_HALVES = (0xD800, 0xDFFF)
_KELVIN, _LONG_S = 0x212A, 0x017F


@dataclass(frozen=True)
class Characters:
    """A set of code points as ranges, sorted and apart."""

    ranges: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, *ranges: tuple[int, int]) -> "Characters":
        """Put ranges, which may overlap, together."""
        joined: list[tuple[int, int]] = []
        for low, high in sorted(ranges):
            if joined and low <= joined[-1][1] + 1:
                joined[-1] = joined[-1][0], max(joined[-1][1], high)
            else:
                joined.append((low, high))
        return cls(tuple(joined))

    @classmethod
    def among(cls, text: str) -> "Characters":
        """The characters of a text; `a-z` stands for those between."""
        return cls.of(*((ord(found[0]), ord(found[-1])) for found in re.findall(r".-.|.", text, re.DOTALL)))

    @property
    def is_ascii(self) -> bool:
        """Whether all of them are."""
        return not self.ranges or self.ranges[-1][1] < 0x80

    def __or__(self, other: "Characters") -> "Characters":
        """All that are in one or the other."""
        return Characters.of(*self.ranges, *other.ranges)

    def others(self) -> "Characters":
        """All that are not in it."""
        found, begin = list[tuple[int, int]](), 0
        for low, high in self.ranges:
            if low > begin:
                found.append((begin, low - 1))
            begin = high + 1
        return Characters.of(*found, *([(begin, _LAST)] if begin <= _LAST else []))

    def folded(self) -> "Characters":
        """With the letters that differ in case alone; for sets within ASCII, two of whose letters have a third form."""
        letters = [code for code in range(0x80) if chr(code).isalpha() and self._holds(code)]
        third = {0x4B: _KELVIN, 0x6B: _KELVIN, 0x53: _LONG_S, 0x73: _LONG_S}
        more = [ord(chr(code).swapcase()) for code in letters] + [third[code] for code in letters if code in third]
        return Characters.of(*self.ranges, *((code, code) for code in more))

    def java(self) -> str:
        """As a class of Java's; one that matches nothing where the set is empty."""
        spelled = "".join(_span(low, high) for low, high in _without_halves(self.ranges))
        return f"[{spelled}]" if spelled else "(?!)"

    def _holds(self, code: int) -> bool:
        return any(low <= code <= high for low, high in self.ranges)


def _span(low: int, high: int) -> str:
    return f"\\x{{{low:x}}}" if low == high else f"\\x{{{low:x}}}-\\x{{{high:x}}}"


def _without_halves(ranges: Iterable[tuple[int, int]]) -> Iterable[tuple[int, int]]:
    for low, high in ranges:
        yield from ((a, b) for a, b in ((low, min(high, _HALVES[0] - 1)), (max(low, _HALVES[1] + 1), high)) if a <= b)


WORD = Characters.among("0-9A-Z_a-z")
NEWLINE = Characters.among("\n")
# RE2's `\s` is without the vertical tab, its `[[:space:]]` with it.
SHORTHANDS = {"d": Characters.among("0-9"), "w": WORD, "s": Characters.among("\t\n\f\r ")}
NAMED = {
    "alnum": Characters.among("0-9A-Za-z"),
    "alpha": Characters.among("A-Za-z"),
    "ascii": Characters.of((0, 0x7F)),
    "blank": Characters.among("\t "),
    "cntrl": Characters.of((0, 0x1F), (0x7F, 0x7F)),
    "digit": Characters.among("0-9"),
    "graph": Characters.of((0x21, 0x7E)),
    "lower": Characters.among("a-z"),
    "print": Characters.of((0x20, 0x7E)),
    "punct": Characters.of((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    "space": Characters.among("\t\n\v\f\r "),
    "upper": Characters.among("A-Z"),
    "word": WORD,
    "xdigit": Characters.among("0-9A-Fa-f"),
}
