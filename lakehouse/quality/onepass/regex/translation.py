"""Writes a pattern of RE2's for Java so that both find a match in the same texts; what cannot be is refused by name.

RE2 has accepted the pattern before, so this reads it without judging its form. Whether there is a match is all that a
rule asks, so that greed, groups and their names mean nothing here.
"""

import re
from dataclasses import dataclass, replace

from lakehouse.quality.onepass.regex.characters import NAMED, NEWLINE, SHORTHANDS, WORD, Characters

_REPEAT = re.compile(r"(?:[*+?]|\{(?:0|[1-9][0-9]*)(?:,(?:0|[1-9][0-9]*)?)?\})\??")
_GROUP = re.compile(r"\((?:\?P?<[^>]*>|\?(?P<flags>[imsU]*(?:-[imsU]*)?)(?P<end>[:)]))?")
_CODE = re.compile(r"\\(?:x\{(?P<long>[0-9A-Fa-f]+)\}|x(?P<short>[0-9A-Fa-f]{2})|(?P<octal>[0-7]{1,3}))")
_NAMED = re.compile(r"\[:(?P<no>\^?)(?P<name>[a-z]+):\]")
_CONTROLS = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_BOUNDARY = f"(?:(?<={WORD.java()})(?!{WORD.java()})|(?<!{WORD.java()})(?={WORD.java()}))"


class NotForJava(ValueError):
    """Something in a pattern has no exact counterpart in Java; says what."""


@dataclass(frozen=True)
class _Flags:
    """What is on at a place of the pattern."""

    fold: bool = False
    lines: bool = False
    dot_all: bool = False

    def changed(self, told: str) -> "_Flags":
        on, _, off = told.partition("-")
        names = {"i": "fold", "m": "lines", "s": "dot_all"}
        return replace(self, **{n: k in on for k, n in names.items() if k in on or k in off})


def java_pattern(pattern: str) -> str:
    """Translate.

    Args:
        pattern: one that RE2 accepts.

    Raises:
        NotForJava: part of it cannot be said exactly in Java.
    """
    return _Reader(pattern).read()


class _Reader:
    """Reads a pattern from left to right; flags end with the group that set them."""

    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0
        self._flags = _Flags()
        self._outer: list[_Flags] = []

    def read(self) -> str:
        pieces: list[str] = []
        begins: list[int] = []  # where the open groups begin among the pieces: a repetition takes all of its group
        while self._at < len(self._text):
            if (found := self._match(_REPEAT)) is not None and pieces:
                # Java knows no repeated assertion, and would take a third sign for another kind of greed.
                pieces[-1] = f"(?:{pieces[-1]}){found.group()}"
            elif (found := self._match(_GROUP)) is not None:
                self._open(found, pieces, begins)
            elif self._take(")"):
                self._flags = self._outer.pop()
                begin = begins.pop()
                pieces[begin:] = ["".join([*pieces[begin:], ")"])]
            elif self._take("|"):
                pieces.append("|")
            else:
                pieces += self._atom()
        return "".join(pieces)

    def _open(self, found: re.Match[str], pieces: list[str], begins: list[int]) -> None:
        flags = found["flags"]
        if flags is not None and found["end"] == ")":
            self._flags = self._flags.changed(flags)
            return
        self._outer.append(self._flags)
        self._flags = self._flags.changed(flags or "")
        begins.append(len(pieces))
        pieces.append("(?:")

    def _atom(self) -> list[str]:
        if self._take("\\Q"):
            literal, _, _ = self._text[self._at :].partition("\\E")
            self._at += len(literal) + 2
            return [self._set(Characters.of((ord(c), ord(c)))) for c in literal]
        if self._text[self._at] == "[":
            return [self._class()]
        for sign, java in {"^": self._line_begins(), "$": self._line_ends(), ".": self._any()}.items():
            if self._take(sign):
                return [java]
        for sign, java in {"\\A": r"\A", "\\z": r"\z", "\\b": _BOUNDARY}.items():
            if self._take(sign):
                return [java]
        return [self._set(self._shorthand() or self._one())]

    def _line_begins(self) -> str:
        return r"(?:\A|(?<=\x{a}))" if self._flags.lines else r"\A"

    def _line_ends(self) -> str:
        return r"(?=\x{a}|\z)" if self._flags.lines else r"\z"

    def _any(self) -> str:
        return (Characters() if self._flags.dot_all else NEWLINE).others().java()

    def _set(self, characters: Characters) -> str:
        return characters.java()

    def _class(self) -> str:
        self._at += 1
        negated = self._take("^")
        found, first = Characters(), True
        while first or not self._take("]"):
            first = False
            found |= self._named() or self._shorthand() or self._span()
        return self._set(found.others() if negated else found)

    def _named(self) -> Characters | None:
        found = self._match(_NAMED)
        return self._either(NAMED[found["name"]], negated=bool(found["no"])) if found else None

    def _shorthand(self) -> Characters | None:
        r"""`\d` and its like, also outside of a class."""
        letter = self._text[self._at + 1 : self._at + 2]
        if self._text[self._at] != "\\" or letter.lower() not in SHORTHANDS:
            return None
        self._at += 2
        return self._either(SHORTHANDS[letter.lower()], negated=letter.isupper())

    def _either(self, characters: Characters, *, negated: bool) -> Characters:
        folded = self._folded(characters)
        return folded.others() if negated else folded

    def _span(self) -> Characters:
        low = self._code()
        ahead = self._text[self._at : self._at + 2]
        if ahead.startswith("-") and ahead != "-]":
            self._at += 1
            return self._folded(Characters.of((low, self._code())))
        return self._folded(Characters.of((low, low)))

    def _one(self) -> Characters:
        code = self._code()
        return self._folded(Characters.of((code, code)))

    def _folded(self, characters: Characters) -> Characters:
        if not self._flags.fold:
            return characters
        if not characters.is_ascii:
            raise NotForJava("a letter beyond ASCII without regard to its case")
        return characters.folded()

    def _code(self) -> int:
        """One character, however it is written."""
        if (found := self._match(_CODE)) is not None:
            return int(found["octal"], 8) if found["octal"] else int(found["long"] or found["short"], 16)
        if self._take("\\"):
            letter = self._text[self._at]
            if letter.isalnum() and letter not in _CONTROLS:
                raise NotForJava(f"\\{letter}")
            self._at += 1
            return _CONTROLS.get(letter, ord(letter))
        self._at += 1
        return ord(self._text[self._at - 1])

    def _take(self, sign: str) -> bool:
        there = self._text.startswith(sign, self._at)
        self._at += len(sign) if there else 0
        return there

    def _match(self, wanted: re.Pattern[str]) -> re.Match[str] | None:
        found = wanted.match(self._text, self._at)
        if found is not None:
            self._at = found.end()
        return found
