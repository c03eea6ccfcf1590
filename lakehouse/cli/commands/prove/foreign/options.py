"""The options of `lakehouse audit --foreign`, and which of them go together."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from lakehouse.errors import LakehouseError
from lakehouse.proofs.foreign import ColumnNames, ForeignQuestion
from lakehouse.proofs.foreign.by_coordinates import Expectations

ForeignTables = Annotated[
    list[str] | None,
    typer.Option(
        "--foreign",
        metavar="TABLE",
        help="Judge this table, which another writer fills from --topic. More than one: each record is in one.",
    ),
]
Topic = Annotated[str, typer.Option(help="With --foreign: the topic.")]
Group = Annotated[str, typer.Option(help="With --foreign: the writer's consumer group; what it passed must be there.")]
TopicColumn = Annotated[str, typer.Option(help="With --foreign: the column with the topic.")]
PartitionColumn = Annotated[str, typer.Option(help="With --foreign: the column with the partition.")]
OffsetColumn = Annotated[str, typer.Option(help="With --foreign: the column with the offset.")]
Key = Annotated[
    list[str] | None,
    typer.Option("--key", help="With --foreign, without coordinates: a column of the key; may be repeated."),
]
Filters = Annotated[bool, typer.Option("--filters", help="With --foreign: the writer leaves out records on purpose.")]
StartedLate = Annotated[
    bool, typer.Option("--started-late", help="With --foreign: the writer did not begin where the topic begins.")
]


class BadQuestion(LakehouseError):
    """Options of `lakehouse audit --foreign` that do not go together."""


@dataclass(frozen=True)
class ForeignOptions:
    """What a person has typed.

    Attributes:
        tables: of `--foreign`.
        topic: of `--topic`.
        group: of `--group`.
        question: of the others.
    """

    tables: tuple[str, ...]
    topic: str
    group: str
    question: ForeignQuestion

    @classmethod
    def typed(
        cls,
        tables: Iterable[str] | None,
        topic: str,
        group: str,
        columns: ColumnNames,
        key: Iterable[str] | None,
        expected: Expectations,
    ) -> "ForeignOptions":
        """The options as typer hands them over."""
        return cls(tuple(tables or ()), topic, group, ForeignQuestion(columns, tuple(key or ()), expected))


def refuse_contradictions(options: ForeignOptions, names: Sequence[str] | None, *, scan: bool, full: bool) -> None:
    """Refuse options that say nothing together.

    Args:
        options: of `--foreign`, whether or not there is one.
        names: of things of our own.
        scan: an option of their proofs.
        full: another.

    Raises:
        BadQuestion: they do not go together.
    """
    if not options.tables:
        if options != ForeignOptions((), "", "", ForeignQuestion()):
            raise BadQuestion("These options are about a table of another writer.", remedy="name it with --foreign")
        return
    if others := [*(names or ()), *(["--scan"] if scan else []), *(["--full"] if full else [])]:
        raise BadQuestion(f"--foreign does not go with {', '.join(others)}.", remedy="run `lakehouse audit` twice")
    if not options.topic:
        raise BadQuestion("Nothing says from which topic the table is filled.", remedy="add --topic")
