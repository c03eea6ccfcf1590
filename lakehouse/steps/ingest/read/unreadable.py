"""The failure of a run that met offsets which cannot be read: it names them, and the command that gives them up."""

import re
from collections.abc import Callable, Sequence

from lakehouse.engines.kafka.topics import TopicState
from lakehouse.errors import LakehouseError
from lakehouse.steps.ingest.read.narrowing import Unreadable
from lakehouse.steps.ingest.report import IngestReport

# One error's words may hold the next error's class, so they are looked at, and not passed by.
_JAVA = re.compile(r"((?:java|javax|org|scala|com|net)\.[\w.$]+(?:Exception|Error))(?=(: [^\n]*)?)")
_PYTHON = re.compile(r"^(?:[A-Za-z_][\w]*\.)*([A-Z]\w*(?:Error|Exception|Invalid|Interrupt))\b", re.MULTILINE)
_LONGEST_CAUSE = 200


class OffsetsUnreadable(LakehouseError):
    """Offsets of the topic cannot be read. All that could be read before them was published.

    Attributes:
        report: of what was published; None where there was nothing.
        unreadable: which offsets.
    """

    def __init__(
        self,
        stream: str,
        topic: TopicState,
        unreadable: Sequence[Unreadable],
        report: IngestReport | None,
        *,
        spark_ended: bool = False,
    ) -> None:
        label = topic.numbers.label
        causes = "; ".join(f"{_shown(offsets, label)}: {cause_of(offsets.cause)}" for offsets in unreadable)
        landed = (
            f"What lies before was published ({report.counts.read:,} records)"
            if report is not None
            else "Spark ended over it, so what lies before is published by the run that comes after it is given up"
            if spark_ended
            else "Nothing lies before that is not published yet"
        )
        super().__init__(
            f"Stream {stream}: topic {topic.topic} cannot be read at {causes}. {landed}.",
            remedy=_remedy(stream, unreadable, label),
        )
        self.report = report
        self.unreadable = tuple(unreadable)


class RecordTooLarge(Exception):
    """A record of more bytes than Spark has memory for."""


def cause_of(error: Exception) -> str:
    """The innermost class of Java's or Python's, without a value: Python's own words may quote what it worked on."""
    if isinstance(error, RecordTooLarge):
        return str(error)
    text = str(error)
    java = [match for match in _JAVA.finditer(text) if not match[1].startswith(("org.apache.spark", "py4j"))]
    if "PythonException" in text and (python := _PYTHON.findall(text)):
        return python[-1]
    if java:
        return f"{java[-1][1].rpartition('.')[2]}{(java[-1][2] or '').rstrip()}"[:_LONGEST_CAUSE]
    return type(error).__name__


def _shown(offsets: Unreadable, label: Callable[[int], str]) -> str:
    last = offsets.end - 1
    span = f"offset {offsets.start}" if last == offsets.start else f"offsets {offsets.start}-{last}"
    if offsets.exact:
        return f"partition {label(offsets.partition)} {span}"
    return f"partition {label(offsets.partition)} {span}, or after it (the next run looks closer)"


def _remedy(stream: str, unreadable: Sequence[Unreadable], label: Callable[[int], str]) -> str:
    exact = [
        f"{label(offsets.partition)}:{offsets.start}"
        + (f"-{offsets.end - 1}" if offsets.end - offsets.start > 1 else "")
        for offsets in unreadable
        if offsets.exact
    ]
    if not exact:
        return "run it again"
    options = " ".join(f"--offsets {text}" for text in exact)
    return (
        "make them readable, or give them up with "
        f'`lakehouse accept-loss {stream} {options} --reason "…" --yes`, which seals it; without --yes it shows what '
        "would be given up"
    )
