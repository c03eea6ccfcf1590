"""Why records and changes were refused, by their place in the topic; keys and values are not shown."""

from collections.abc import Iterable, Sequence

import pyarrow as pa
from rich.table import Column, Table

from lakehouse.cli.context import Context
from lakehouse.orchestration.resources import Lake

_SHOWN = 20


def show_quarantined(
    context: Context, lake: Lake, names: Iterable[str], columns: Sequence[str], order: Sequence[str]
) -> None:
    """Print the first rows of quarantine tables; nothing where all are empty.

    Args:
        context: of the command.
        lake: where they are.
        names: of the tables, which exist.
        columns: that hold partition, offset, reason and what was wrong.
        order: columns to sort by.
    """
    shown = Table(*(Column(title, no_wrap=True) for title in ("quarantine", "offset", "reason")), "what was wrong")
    for name in names:
        refused: pa.Table = lake.arrow(name, columns=columns).sort_by([(column, "ascending") for column in order])
        for row in refused.slice(0, _SHOWN).to_pylist():
            partition, offset, reason, message = (row[column] for column in columns)
            shown.add_row(name, f"{partition}:{offset}", reason, message)
        if refused.num_rows > _SHOWN:
            shown.add_row(name, "", "", f"… and {refused.num_rows - _SHOWN:,} more")
    if shown.row_count:
        context.out.print(shown)
