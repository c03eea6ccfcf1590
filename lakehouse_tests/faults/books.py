"""What has to be in the tables, by the test's own books: which publishes stand, and how far each table has come."""

from collections import Counter
from dataclasses import dataclass, field, replace

from lakehouse_tests.faults.offsets_oracle import Position, Record

TOPIC = "events"


@dataclass(frozen=True)
class Content:
    """What one table holds.

    Args:
        position: up to where every record that is for the table is in it, once.
        publishes: names of the publishes that have made it so, oldest first.
    """

    position: Position = field(default_factory=dict[int, int])
    publishes: tuple[str, ...] = ()

    def after(self, publish: str, end: Position) -> "Content":
        """The content after another publish."""
        return replace(self, position=dict(end), publishes=(*self.publishes, publish))


@dataclass
class Book:
    """The books of one table.

    Args:
        by_remainder: offsets go to this table if they have one of these remainders by 3.
        states: snapshot that was the head of `main` → what it holds.
    """

    by_remainder: tuple[int, ...]
    content: Content = field(default_factory=Content)
    states: dict[int | None, Content] = field(default_factory=lambda: {None: Content()})

    def records(self, content: Content | None = None) -> Counter[Record]:
        """Every record that has to be there, once."""
        position = (content or self.content).position
        return Counter(
            (TOPIC, partition, offset)
            for partition, end in position.items()
            for offset in range(end)
            if offset % 3 in self.by_remainder
        )

    def moved(self, head: int | None, content: Content) -> None:
        """`main` is at a snapshot that holds this."""
        assert self.states.setdefault(head, content) == content, f"snapshot {head} was the head with other content"
        self.content = content
