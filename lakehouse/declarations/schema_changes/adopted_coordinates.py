"""The Kafka coordinates of a table that somebody else has begun: columns that are null in its old rows, and may be.

A table that a stream has made requires them. In one that was filled before, they are optional: rows that were there
have none, and nothing can give them theirs.
"""

from pyiceberg.schema import Schema

from lakehouse.declarations.columns.names import COORDINATE_NAMES

ADOPT = "`lakehouse adopt <stream>` takes its rows over, and adds the column"
RENAME = "rename the column (ALTER TABLE … RENAME COLUMN), and name it to `lakehouse adopt` by --partition-column or \
--offset-column"


def is_coordinate(path: tuple[str, ...]) -> bool:
    """Whether a column is one of the coordinates that every streamed table ends with."""
    return len(path) == 1 and path[0] in COORDINATE_NAMES


def with_optional_coordinates(declared: Schema, stored: Schema, *, adopting: bool) -> Schema:
    """The declared schema, in which coordinates may be null where the table says so.

    Args:
        declared: with the coordinates required.
        stored: the table's.
        adopting: whether a person takes the table over, so that it gets the coordinates that it lacks.
    """
    optional = {field.name for field in stored.fields if not field.required}
    if adopting:
        optional |= set(COORDINATE_NAMES) - {field.name for field in stored.fields}
    optional &= set(COORDINATE_NAMES)
    fields = [
        field.model_copy(update={"required": False}) if field.name in optional else field for field in declared.fields
    ]
    return Schema(*fields, schema_id=declared.schema_id, identifier_field_ids=declared.identifier_field_ids)
