"""What a stream may change of a table by itself, where its records change."""

from dataclasses import dataclass
from typing import Literal

from lakehouse.declarations.columns.error import DeclarationError

Otherwise = Literal["quarantine", "second_column", "stop_table"]
MOST_SECOND_COLUMNS = 4
"""So many second columns a table may get; a record is tried with each set of them."""


@dataclass(frozen=True, kw_only=True)
class Evolution:
    """What happens to a table where its records change, before they are written. Nested fields are meant as well.

    Attributes:
        add: a field that the table does not have becomes a column, which may be null.
        widen: `int` becomes `long`, `float` becomes `double`, a decimal gets more digits before its point.
        make_optional: a required column may be null from then on, unless it is in the key. Of JSON a single record
            without the field is enough.
        otherwise: what becomes of a record that does not fit even so, as a field has another type. `"quarantine"`:
            that record goes there. `"second_column"`: its value goes to a column of its own, and the first one is null.
            `"stop_table"`: all records of this table go to quarantine until its declaration changes, and the other
            tables of the stream go on.
        most_columns: a table does not grow beyond so many.
    """

    add: bool = True
    widen: bool = True
    make_optional: bool = False
    otherwise: Otherwise = "quarantine"
    most_columns: int = 500


def check_evolution(table: str, evolution: Evolution | None) -> None:
    """Refuse what cannot work.

    Raises:
        DeclarationError: says what and what to do.
    """
    if evolution is None:
        return
    if evolution.otherwise not in ("quarantine", "second_column", "stop_table"):
        raise DeclarationError(
            f"{table}, evolution: otherwise is {evolution.otherwise!r}.",
            remedy='write "quarantine", "second_column" or "stop_table".',
        )
    if evolution.most_columns < 1:
        raise DeclarationError(
            f"{table}, evolution: most_columns is {evolution.most_columns}.", remedy="choose 1 or more."
        )
