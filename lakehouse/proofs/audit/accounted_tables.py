"""Tables for whose rows the seals of a stream account, whether or not they can be loaded, or are still declared.

Every seal of a stream carries the totals of all its tables. So a table that was dropped is missed, and so is what was
taken out of the declaration: its records are in no other table.
"""

from collections.abc import Collection, Iterator, Sequence

from lakehouse.engines.kafka.statement import NO_TABLES
from lakehouse.proofs.audit.chain import Link
from lakehouse.proofs.audit.findings import Finding


def former_tables(links: Sequence[Link], tables: Collection[str]) -> list[str]:
    """Tables that are declared no more, and that hold records of the stream."""
    return [name for name in _rows(links) if name not in tables]


def judge_missing(missing: Sequence[str], links: Sequence[Link]) -> Iterator[Finding]:
    """A table without sealed rows may never have been made; of another, the seals beside it say what is lost."""
    rows = _rows(links)
    for name in missing:
        if name in rows:
            message = f"{name} was dropped: the seals of the stream account for {rows[name]:,} rows in it."
            yield Finding("table_gone", message, name)


def _rows(links: Sequence[Link]) -> dict[str, int]:
    """Table → rows that should be in it, of those with any."""
    stored = links[-1].statement.expected if links else {}
    counts = {
        name: sum(tally.count for tally in tallies.values())
        for name, tallies in stored.items()
        if name not in NO_TABLES
    }
    return {name: count for name, count in sorted(counts.items()) if count > 0}
