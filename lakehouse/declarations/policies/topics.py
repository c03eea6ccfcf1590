"""Which topics a stream of several reads: some by name, or all whose names match a pattern."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from lakehouse.declarations.columns.error import DeclarationError
from lakehouse.declarations.columns.names import check_topic_name


@dataclass(frozen=True)
class Topics:
    """Topics by name. Each has to exist when the stream runs.

    Attributes:
        names: at least one; the order does not matter.
    """

    names: tuple[str, ...]

    def __init__(self, *names: str) -> None:
        """Takes the names: `Topics("orders", "returns")`."""
        object.__setattr__(self, "names", names)

    def check(self, stream: str) -> None:
        """Refuse what cannot work.

        Raises:
            DeclarationError: no name, one twice, or one that Kafka would refuse.
        """
        if not self.names or len({*self.names}) < len(self.names):
            raise DeclarationError(
                f"Stream {stream}: its topics are {self.names!r}.", remedy="name at least one topic, each once."
            )
        for name in self.names:
            check_topic_name(stream, name)

    def chosen(self, existing: Iterable[str]) -> list[str]:
        """The topics to read; also those that do not exist, which the broker will say."""
        del existing
        return sorted(self.names)

    def __str__(self) -> str:
        """As messages call it."""
        return ", ".join(self.names)


@dataclass(frozen=True)
class TopicPattern:
    """All topics whose whole name matches a regular expression (Python's `re`).

    A topic that comes later joins the stream from its beginning. Kafka's own topics (`__…`) never match.

    Attributes:
        pattern: such as `orders[.].+`.
        excluding: names that match this one are left out; empty: none are.
    """

    pattern: str
    excluding: str = ""

    def check(self, stream: str) -> None:
        """Refuse what cannot work.

        Raises:
            DeclarationError: an expression that is none, or none at all.
        """
        for text in (self.pattern, self.excluding):
            try:
                re.compile(text)
            except re.error as error:
                raise DeclarationError(
                    f"Stream {stream}: {text!r} is no regular expression ({error}).", remedy="correct it."
                ) from error
        if not self.pattern:
            raise DeclarationError(f"Stream {stream}: an empty pattern of topics.", remedy="write what names match.")

    def chosen(self, existing: Iterable[str]) -> list[str]:
        """Those of the topics that exist which match."""
        wanted, unwanted = re.compile(self.pattern), re.compile(self.excluding) if self.excluding else None
        return sorted(
            name
            for name in existing
            if wanted.fullmatch(name)
            and not name.startswith("__")
            and (unwanted is None or not unwanted.fullmatch(name))
        )

    def __str__(self) -> str:
        """As messages call it."""
        return f"/{self.pattern}/" + (f" without /{self.excluding}/" if self.excluding else "")
