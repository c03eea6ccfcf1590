"""What can be done where a mirror is declared otherwise than its tables were made: no change of columns makes it so.

Whether deleted rows stay, and what identifies a row, is in every row of the mirror and of its tombstones.
"""

from collections.abc import Iterable, Sequence

from pyiceberg.schema import Schema

from lakehouse.declarations.mirror import BEHIND_COLUMN, DELETED_COLUMN, DIGEST_COLUMN, POSITION_COLUMN
from lakehouse.declarations.schema_changes.evolution import Problem
from lakehouse.declarations.table import Table

_PREFIX = "_cdc_"


def mirror_problems(table: Table, stored: Schema) -> list[Problem]:
    """Why a mirror or its tombstones cannot become what is declared, with remedies that work; empty for other tables.

    Args:
        table: any.
        stored: its columns as they are.
    """
    declared = {column.name: column.required for column in table.columns}
    if not {POSITION_COLUMN.name, DIGEST_COLUMN.name} <= declared.keys():
        return []
    in_table = {field.name: field.required for field in stored.fields}
    if BEHIND_COLUMN.name not in declared:
        return _key(_own(declared), _own(in_table))
    problems = _deletes(table, soft=DELETED_COLUMN.name in declared, was_soft=DELETED_COLUMN.name in in_table)
    key, stored_key = (_own(name for name, required in names.items() if required) for names in (declared, in_table))
    return [*problems, *(_key(key, stored_key) if set(key) - set(stored_key) else [])]


def _deletes(table: Table, *, soft: bool, was_soft: bool) -> list[Problem]:
    if soft == was_soft:
        return []
    declared, made = ("soft", "hard") if soft else ("hard", "soft")
    return [
        Problem(
            f'the mirror is declared with deletes="{declared}", and its tables were made with deletes="{made}"',
            f'declare deletes="{made}" again, or another mirror under another name; or drop its three tables, '
            f"{table.name}, its tombstones and its quarantine: the next run makes them anew of the whole changelog, if "
            "no changes were retired there.",
        )
    ]


def _key(declared: Sequence[str], stored: Sequence[str]) -> list[Problem]:
    if set(declared) == set(stored):
        return []
    return [
        Problem(
            f"the mirror is declared with key={tuple(declared)}, and its tables were made with key={tuple(stored)}",
            f"declare key={tuple(stored)} again; or another changelog, of another stream, and another mirror, all "
            "under other names, so that the topic is read anew: changes that are there have the old key.",
        )
    ]


def _own(names: Iterable[str]) -> list[str]:
    return [name for name in names if not name.startswith(_PREFIX)]
