"""Which fields has a name meant, as the rows of a table came?

Rows are written to fields, by id, and read by name. Where somebody swaps two names, or drops a column and adds it
anew, the same name means another field, and what was written is read as something else.
"""

from collections.abc import Mapping

import msgspec
from pyiceberg.schema import Schema
from pyiceberg.table import Table

from lakehouse import seal_keys
from lakehouse.protocol.seals.history import ancestry, summary_of
from lakehouse.protocol.seals.settling import settles


def written_fields(table: Table, snapshot_id: int | None) -> dict[str, set[int]]:
    """Column, or field within one → the ids it had in the schemas that rows up to a snapshot came with.

    As far as nothing has settled the matter. Where history does not go so far any more, seals name the differing ones.
    """
    schema_ids, fields = _of_history(table, snapshot_id)
    return _with_schemas(table, schema_ids, fields)


def ambiguous_fields(table: Table, snapshot_id: int | None) -> dict[str, list[int]]:
    """Those that have had several ids, that of the current schema among them: what a seal carries on."""
    schema_ids, fields = _of_history(table, snapshot_id)
    schema_ids.add(table.metadata.current_schema_id)
    if len(schema_ids) > 1 or fields:  # as a rule there is one schema, and nothing to compare
        fields = _with_schemas(table, schema_ids, fields)
    return {name: sorted(ids) for name, ids in sorted(fields.items()) if len(ids) > 1}


def _of_history(table: Table, snapshot_id: int | None) -> tuple[set[int], dict[str, set[int]]]:
    """Schemas of the snapshots that are there, and the field ids that seals name."""
    schema_ids, fields = set[int](), dict[str, set[int]]()
    for snapshot in ancestry(table, snapshot_id):
        if snapshot.schema_id is not None:
            schema_ids.add(snapshot.schema_id)
        summary = summary_of(snapshot)
        if seal_keys.VERSION not in summary:
            continue
        if settles(summary):
            break
        for name, ids in _recorded(summary).items():
            fields.setdefault(name, set()).update(ids)
    return schema_ids, fields


def _with_schemas(table: Table, schema_ids: set[int], fields: dict[str, set[int]]) -> dict[str, set[int]]:
    schemas = table.schemas()
    for schema_id in schema_ids & schemas.keys():
        for name, field_id in field_ids(schemas[schema_id]).items():
            fields.setdefault(name, set()).add(field_id)
    return fields


def field_ids(schema: Schema) -> dict[str, int]:
    """Column, or field within one → its id."""
    return {name: schema.find_field(name).field_id for name in schema.column_names}


def _recorded(summary: Mapping[str, str]) -> dict[str, list[int]]:
    """What a seal carries on. That it is as it was written is for other proofs to say."""
    if (text := summary.get(seal_keys.PREFIX + seal_keys.FOREIGN_COLUMNS)) is None:
        return {}
    try:
        return msgspec.json.decode(text, type=dict[str, list[int]])
    except msgspec.MsgspecError:
        return {}
