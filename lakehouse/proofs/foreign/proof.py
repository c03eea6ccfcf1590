"""What a proof of somebody else's table says: proven, disproved, or left open, and why."""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Verdict = Literal["proven", "disproved", "open"]
DecidedBy = Literal["coordinates", "key and count", "list of files"]


@dataclass(frozen=True)
class ForeignFinding:
    """What shows that a record is not there once.

    Attributes:
        kind: for machines: `file_listed_twice`, `repeated`, `missing`, `too_many_rows`, `too_few_rows`.
        message: what is wrong, for a person, with the remedy.
        offsets: in question.
    """

    kind: str
    message: str
    partition: int | None = None
    offsets: str = ""


@dataclass(frozen=True)
class ForeignRange:
    """One partition of the topic, as far as the tables reach.

    Attributes:
        first: the lowest offset that a row has; None without any.
        end: the first offset after the highest that a row has.
        rows: with these coordinates, repetitions included.
        without_value: records without a value in between (tombstones), which make no row.
        without_record: offsets in between that never had a committed record: transaction markers and the like.
        ahead: offsets behind `end` that nothing is said of: not written yet, as far as anybody knows.
    """

    partition: int
    first: int | None
    end: int
    rows: int
    without_value: int = 0
    without_record: int = 0
    ahead: int = 0


@dataclass(frozen=True)
class ForeignProof:
    """The verdict on one or several tables that are filled from one topic.

    Attributes:
        snapshots: table → the snapshot that was judged.
        writer: who wrote it, by the marks in its snapshots; empty where they have none.
        columns: that hold the coordinates, by table; empty where it has none.
        findings: what disproves.
        undecided: why nobody can say; each with what would let it be said.
        ranges: what the proof by coordinates covers.
        rows: of the topic in all tables, as far as they were counted.
        seconds: that it took.
    """

    topic: str
    tables: tuple[str, ...]
    snapshots: dict[str, int]
    decided_by: DecidedBy
    writer: str = ""
    columns: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    findings: tuple[ForeignFinding, ...] = ()
    undecided: tuple[str, ...] = ()
    ranges: tuple[ForeignRange, ...] = ()
    rows: int = 0
    seconds: float = 0.0

    @property
    def verdict(self) -> Verdict:
        """Disproved, whatever else is open; open, if anything is."""
        if self.findings:
            return "disproved"
        return "open" if self.undecided else "proven"

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {"verdict": self.verdict, **asdict(self)}
