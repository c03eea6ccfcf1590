"""What a check's answer depends on, in short: by it a later command can tell that the answer would be the same.

It is taken before the tables are judged. Metadata of Iceberg never change in their place, so if the tables are as they
were before, they were so in between. It is no part of a verdict: where it cannot be had, there is none of it.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, cast

import dagster as dg
import msgspec
import pyarrow as pa
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table as IcebergTable

from lakehouse.declarations import Column, Declarations, References, SameValues, SampleOf
from lakehouse.errors import LakehouseError
from lakehouse.iceberg.names import identifier_of
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.seals.read_group import Pinned, read_group

LABEL = "judged state"
# A release tags what it has judged, runs pin what they read, and files are measured: rows and seals stay as they are.
_PASSING = {"refs", "metadata_log", "last_updated_ms", "statistics", "partition_statistics", "metadata_file"}


def judged_tables(name: str, declarations: Declarations) -> set[str]:
    """The tables that the checks of a table may read: itself, what it is compared with, and all that these stem from.

    Which snapshot of another table a check takes is in the seals of those between.
    """
    judged, waiting = set[str](), [name]
    while waiting:
        judged.add(name := waiting.pop())
        waiting += set(_next(name, declarations)) - judged
    return judged


def state_of(pinned: Pinned) -> str:
    """A digest of what metadata say of `main` and of all snapshots; tags and branches come and go beside them."""
    return _digest(_spoken(pinned.table), str(pinned.snapshot_id))


def pinned_tables(catalog: LakeCatalog, names: Iterable[str]) -> dict[str, Pinned]:
    """Those of these tables that exist, at one moment; none where one cannot be read: whoever judges it says why."""
    try:
        existing = [name for name in sorted(names) if catalog.table_exists(identifier_of(name))]
        return read_group(catalog, existing) if existing else {}
    except (LakehouseError, NoSuchTableError, OSError, ValueError):
        return {}


def judged_state(name: str, declarations: Declarations, states: Mapping[str, str]) -> dict[str, str]:
    """What the checks of a table depend on: each table's state, and what is declared; empty where it is not known.

    Args:
        name: of the table.
        declarations: with all that it is compared with.
        states: table → its state.
    """
    if name not in states:
        return {}
    judged = sorted(judged_tables(name, declarations))
    return {"declared": _digest(*(_declared(table, declarations) for table in judged))} | {
        table: states.get(table, "") for table in judged
    }


def with_state(result: dg.AssetCheckResult, state: Mapping[str, str]) -> dg.AssetCheckResult:
    """The same verdict, saying what it depends on."""
    if not state:
        return result
    # As a text: what is JSON to Dagster is drawn large.
    known = msgspec.json.encode(dict(state)).decode()
    return result._replace(metadata={**(result.metadata or {}), LABEL: dg.MetadataValue.text(known)})


def known_state(verdict: dg.AssetCheckEvaluation) -> dict[str, str]:
    """What `with_state` has stored; empty where nothing is."""
    value = verdict.metadata.get(LABEL)
    return msgspec.json.decode(str(value.value), type=dict[str, str]) if value is not None else {}


def _next(name: str, declarations: Declarations) -> Iterable[str]:
    if (table := declarations.tables.get(name)) is not None:
        yield from (other.table for other in table.expects if isinstance(other, References | SampleOf | SameValues))
    if (derived := declarations.derived.get(name)) is not None:
        yield from derived.inputs.values()
    if (tables := declarations.mirrors.get(name)) is not None:
        yield from (table.name for table in tables.tables)
        yield tables.changelog.name
        if tables.mirror.initial is not None:
            yield tables.mirror.initial


def _spoken(table: IcebergTable) -> str:
    main = table.metadata.refs.get("main")
    return f"{table.metadata.model_dump_json(exclude=_PASSING)}{main.model_dump_json() if main else ''}"


def _declared(name: str, declarations: Declarations) -> str:
    """What is declared of a table as it was evaluated: a bound may be today's date, or come from a file."""
    declared: list[object] = []
    if (table := declarations.tables.get(name)) is not None:
        declared += [table.key, table.expects, _rules(table.columns)]
    if (tables := declarations.mirrors.get(name)) is not None:
        mirror, log = tables.mirror, tables.changelog
        declared += [mirror.deletes, mirror.lateness, mirror.initial, mirror.full_check_rows, mirror.max_late_share]
        declared += [log.key, _rules(log.columns)]
    return _spelled(declared)


def _values(column: Column) -> list[object]:
    return [(check.name, check.statistics) for check in column.checks]


def _rules(columns: Iterable[Column]) -> list[object]:
    return [
        (column.name, column.type, column.required, column.expected, column.severity, _values(column))
        for column in columns
    ]


def _spelled(value: object) -> str:
    """In full, as Arrow leaves out the middle of what is long; and in one order, as sets have none."""
    if isinstance(value, pa.Array):
        array: Any = value
        return f"{array.type}{array.to_pylist()}"
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return f"{{{', '.join(f'{key!r}: {_spelled(item)}' for key, item in items)}}}"
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(map(_spelled, cast('set[object]', value))))}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_spelled, cast('list[object]', value)))}]"
    if is_dataclass(value):
        parts = [(part.name, _spelled(getattr(value, part.name))) for part in fields(value)]
        return f"{type(value).__name__}{parts}"
    return repr(value)


def _digest(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]
