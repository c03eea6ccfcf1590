"""Of a writer with a hundred tables a report shows a few, and how many more there are."""

from collections.abc import Collection, Iterable, Mapping

MOST = 20
"""So many tables of one writer are shown."""
FEW = 8
"""So many are, where it has more."""


def left_out(writers: Mapping[str, str], shown_anyway: Collection[str] = ()) -> dict[str, tuple[str, ...]]:
    """The tables that a report leaves out.

    Args:
        writers: table → who writes it.
        shown_anyway: tables of which there is something to say.

    Returns:
        the last table that is shown of a writer → those that would follow it.
    """
    after: dict[str, tuple[str, ...]] = {}
    for tables in _by_writer(writers).values():
        if len(tables) > MOST:
            shown = {*tables[:FEW], *(table for table in tables if table in shown_anyway)}
            last = max(shown, key=tables.index)
            after[last] = tuple(table for table in tables if table not in shown)
    return {last: tables for last, tables in after.items() if tables}


def _by_writer(writers: Mapping[str, str]) -> Mapping[str, list[str]]:
    by_writer: dict[str, list[str]] = {}
    for table, writer in writers.items():
        by_writer.setdefault(writer, []).append(table)
    return by_writer


def rows_together(rows: Iterable[int | None]) -> int | None:
    """Rows of all these tables; None where those of one are not known."""
    total = 0
    for count in rows:
        if count is None:
            return None
        total += count
    return total
