"""How each verb ends in each kind of trouble: the table of `docs/reference/commands.md`, which a test asks for.

A verb of the command that has no row here fails that test.
"""

from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, NamedTuple

from lakehouse_tests.cli.whole_command import whole_command


class Trouble(Enum):
    """What is the matter: how the page calls it, the line that is told as a regular expression, and what it is like."""

    BROKER = (
        "no broker",
        r"No Kafka broker answers at 127\.0\.0\.1:1",
        "No Kafka broker answers at kafka:9092: … Connection refused. Remedy: start it …",
    )
    CATALOG = (
        "no catalog",
        r"The catalog database .*catalog\.db cannot be read",
        "The catalog at https://polaris:8181 does not answer: connection refused. Remedy: start it …",
    )
    SETTINGS = (
        "setting",
        r"lakehouse\.yaml, key platfrom: unknown key\. Remedy: did you mean platform\? Otherwise use one of ",
        "conf/lakehouse.yaml, key platfrom: unknown key. Remedy: did you mean platform? Otherwise use one of …",
    )
    DECLARATION = (
        "declaration",
        r"DOES NOT LOAD: .*/flights\.py, line 1: ImportError: ",
        "DOES NOT LOAD: conf/declarations/tables/flights.py, line 1: … Remedy: correct the file.",
    )
    TABLE = (
        "no table",
        r"(Table|There is no|holds no|does not exist|no catalog at|nothing was|no seal in common)",
        "Table does not exist: raw.flights. Remedy: create it with `lakehouse apply` …",
    )
    NAME = (
        "unknown name",
        r"(There is no|does not exist|not a topic|is not declared|/proc/)",
        "There is no stream flight. Remedy: name one of flights, …",
    )

    @property
    def title(self) -> str:
        """The column of the page."""
        return self.value[0]

    @property
    def line(self) -> str:
        """What a line of the messages has to match."""
        return self.value[1]

    @property
    def example(self) -> str:
        """Such a line, shortened."""
        return self.value[2]


class Row(NamedTuple):
    """A verb: words that make it do something, words with a name that nobody declared, and the code in each trouble.

    None is of a trouble that the verb does not come upon, or that only a whole run shows.
    """

    words: str
    unknown: str | None
    broker: int | None
    catalog: int | None
    settings: int | None
    declaration: int | None
    table: int | None

    def code(self, trouble: Trouble) -> int | None:
        """What it ends with."""
        if trouble is Trouble.NAME:
            return None if self.unknown is None else 2
        return {
            Trouble.BROKER: self.broker,
            Trouble.CATALOG: self.catalog,
            Trouble.SETTINGS: self.settings,
            Trouble.DECLARATION: self.declaration,
            Trouble.TABLE: self.table,
        }[trouble]

    def words_in(self, trouble: Trouble) -> list[str]:
        """What to call it with; `{new}` is a path where nothing is, `{lines}` a file with a message."""
        return (self.unknown or "" if trouble is Trouble.NAME else self.words).split()


_ = None
EXIT_CODES: Mapping[str, Row] = {
    "run": Row("", _, 2, 2, 2, _, _),
    "derive": Row("features.airport_load", "no.such", _, 2, 2, 2, _),
    "release show": Row("analytics", "nosuch", _, 2, 2, 2, 2),
    "release list": Row("", "nosuch", 0, 2, 2, 2, 0),
    "release rollback": Row("analytics x --why y", "nosuch x --why y", _, 2, 2, 2, 2),
    "plan": Row("", _, 0, 2, 2, 2, 0),
    "apply": Row("", _, 0, 2, 2, 2, 0),
    "status": Row("", _, 2, 2, 2, 2, 0),
    "tables": Row("", _, 2, 2, 2, 2, 0),
    "metrics": Row("", _, 2, 2, 2, 2, 0),
    "log": Row("", "--table no.such", 0, 2, 2, 0, 0),
    "catalog env": Row("", "nosuch", 0, 0, 2, 0, 0),
    "audit": Row("", "nosuch", 0, 2, 2, 2, 2),
    "replay": Row("flights --range 0:0:1", "nosuch --range 0:0:1", 2, 2, 2, 2, 2),
    "accept-loss": Row("flights", "nosuch", 2, 2, 2, 2, 2),
    "adopt": Row("flights --from rows", "nosuch --from rows", _, 2, 2, 2, 2),
    "reprocess": Row("flights", "nosuch", _, 2, 2, 2, 2),
    "quarantine show": Row("flights", "nosuch", 0, 2, 2, 2, 2),
    "quarantine expire": Row("flights", "nosuch", _, 2, 2, 2, 2),
    "quarantine export": Row("flights dead", "nosuch dead", 2, 2, 2, 2, 2),
    "rebuild": Row("mirror.flights", "no.such", _, 2, 2, 2, 2),
    "rollback": Row("flights", "nosuch", _, 2, 2, 2, 2),
    "forward": Row("flights", "nosuch", _, 2, 2, 2, 2),
    "maintain": Row("", "no.such", 0, 2, 2, 2, 0),
    "housekeep": Row("", _, 0, 2, 2, 2, 0),
    "lease take": Row("raw.flights me --for 1h --reason x", "no.such me --for 1h --reason x", _, 2, 2, 2, 2),
    "lease list": Row("", "no.such", 0, 2, 2, 2, 0),
    "lease release": Row("raw.flights me", "no.such me", _, 2, 2, 2, 2),
    "checkpoint": Row("mirror.flights", "no.such", _, 2, 2, 2, 2),
    "retire": Row("changelog.flights", "no.such", _, 2, 2, 2, _),
    "backup": Row("{new}", "/proc/no/such", 0, 2, 2, 0, 2),
    "restore": Row("{new}", "/proc/no/such", _, _, 2, _, _),
    "init": Row("{new}", "/proc/no/such", _, _, _, _, _),
    "dev": Row("--port 0", _, 2, 2, 2, _, _),
    "up": Row("", _, _, _, 2, _, _),
    "down": Row("", _, 0, 0, 2, 0, 0),
    "infer": Row("flights", _, 2, _, 2, _, _),
    "produce": Row("flights --unread --file {lines}", "nosuch", 2, _, 2, _, _),
    "jars": Row("", _, _, _, 2, _, _),
    "doctor": Row("", _, 1, 1, 2, _, _),
    "verify": Row("--yes", _, 2, 2, 2, _, _),
    "polaris plan": Row("", "nosuch", _, _, 2, _, _),
    "polaris apply": Row("", "nosuch", _, _, 2, _, _),
    "polaris rotate": Row("lake-ingest --secrets {new}", "nosuch --secrets {new}", _, _, 2, _, _),
    "polaris setup": Row("", "nosuch", 0, 0, 2, 0, 0),
    "polaris check": Row("", "nosuch", _, _, 2, _, _),
    "polaris policies": Row("raw.flights", "no.such", _, _, 2, _, _),
    "simulate changes": Row("--days 1", _, 2, _, 2, _, _),
}


def verbs() -> Iterator[tuple[str, Any]]:
    """All verbs that the command has, by name."""
    yield from _below(whole_command(), ())


def _below(command: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    below = getattr(command, "commands", None)  # of a group
    if below is None:
        yield " ".join(path), command
        return
    for name, verb in below.items():
        yield from _below(verb, (*path, name))
