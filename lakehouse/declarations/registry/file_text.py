"""What the text of a declaration file shows where it cannot be run: a file that raises has no objects to ask."""

import re
from dataclasses import dataclass
from pathlib import Path

_QUOTED = r"""(["'])(?P<value>[\w.\-]+)\1"""
_NAME = re.compile(rf"\bname\s*=\s*{_QUOTED}")
_TOPIC = re.compile(rf"\b(?:topic|stream)\s*=\s*{_QUOTED}")
_LITERAL = re.compile(_QUOTED)
_TABLE = re.compile(r"[A-Za-z_]\w*\.[A-Za-z_]\w*")


@dataclass(frozen=True)
class FileText:
    """What is written in a declaration file, as literals.

    Attributes:
        named: `namespace.table` of what it declares: `name="raw.things"`.
        mentioned: every `namespace.table` in it.
        topics: names of topics and streams in it.
        has_stream: whether it speaks of streams.
        has_changelog: whether it speaks of changelogs.
    """

    named: frozenset[str] = frozenset()
    mentioned: frozenset[str] = frozenset()
    topics: frozenset[str] = frozenset()
    has_stream: bool = False
    has_changelog: bool = False

    def may_fill(self, table: str) -> bool:
        """Whether a stream of this file may write a table; any, where no name of one is written in it."""
        return self.has_stream and (not self.mentioned or table in self.mentioned)

    def may_share(self, stream: str, topic: str) -> bool:
        """Whether a changelog of this file may belong to a stream; to any, where neither is written in it."""
        return self.has_changelog and (not self.topics or bool(self.topics & {stream, topic}))


def text_of(file: Path) -> FileText:
    """Read a file as text; one that cannot be read shows nothing, and may be anything."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return FileText(has_stream=True, has_changelog=True)

    def values(pattern: re.Pattern[str]) -> frozenset[str]:
        return frozenset(match["value"] for match in pattern.finditer(text))

    def tables(pattern: re.Pattern[str]) -> frozenset[str]:
        return frozenset(value for value in values(pattern) if _TABLE.fullmatch(value))

    return FileText(
        named=tables(_NAME),
        mentioned=tables(_LITERAL),
        topics=values(_TOPIC),
        has_stream=re.search(r"\bStream\b", text) is not None,
        has_changelog=re.search(r"\bChangelog\b", text) is not None,
    )
