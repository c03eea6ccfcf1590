"""Which names are allowed: tables, columns, topics, and the names that belong to Iceberg or to us."""

import re

from lakehouse.declarations.columns.error import DeclarationError
from lakehouse.iceberg.names import identifier_of, is_elsewhere, split_catalog
from lakehouse.settings.values import problem_of_catalog_name

COORDINATE_NAMES = ("_kafka_topic", "_kafka_partition", "_kafka_offset", "_kafka_timestamp")

# Iceberg's metadata columns. A table with such a column can be written, and then some of its readers fail.
RESERVED_NAMES = frozenset(
    {
        "_file",
        "_pos",
        "_deleted",
        "_spec_id",
        "_partition",
        "_row_id",
        "_last_updated_sequence_number",
        "_change_type",
        "_change_ordinal",
        "_commit_snapshot_id",
        "file_path",
        "pos",
    }
)

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_TABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# A name becomes a folder, and with others a step's name; file systems end at 255 bytes, catalogs at 255 characters.
LONGEST_NAME = 100
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")


def table_identifier(name: str) -> tuple[str, str]:
    """Split `namespace.table`.

    Raises:
        DeclarationError: the name is not of that form, or is of a table of another catalog.
    """
    if not isinstance(name, str):
        raise DeclarationError(f"A table's name is no text, but of type {type(name).__name__}.", remedy="quote it.")
    if is_elsewhere(name):
        raise DeclarationError(
            f"'{_shortened(name)}' is a table of another catalog, which is an input of a derived table and nothing "
            "else: no publish, release, quarantine or expectation spans two catalogs.",
            remedy="name a table of the own catalog; a derived table may bring the rows here.",
        )
    parts = identifier_of(name)
    if len(parts) != 2 or not all(_TABLE.fullmatch(part) for part in parts):
        raise DeclarationError(
            f"'{_shortened(name)}' cannot name a table{_why(name, len(parts))}.",
            remedy="write namespace.table, both of letters, digits and underscores, beginning with no digit.",
        )
    for part in parts:
        _check_length(part, "a namespace or table")
    return parts[0], parts[1]


def check_input_name(name: str) -> None:
    """Refuse what names no table: `namespace.table` of the own catalog, `catalog:namespace.table` of another.

    Raises:
        DeclarationError: the name is not of that form.
    """
    catalog, table = split_catalog(name)
    if is_elsewhere(name) and (problem := problem_of_catalog_name(catalog)) is not None:
        raise DeclarationError(
            f"'{_shortened(name)}': the catalog's name, before the colon, {problem}.",
            remedy="write catalog:namespace.table; the catalog is a file of conf/catalogs.",
        )
    table_identifier(table)


def _why(name: str, parts: int) -> str:
    """What of a name some catalogs would allow, and why it is not to be had here."""
    if parts > 2 and all(name.split(".")):
        return ": a namespace within a namespace is nothing that Hive or Glue has, and seals name tables by two parts"
    if "-" in name:
        return ": no name of a Dagster step has a dash, and most engines would want it quoted"
    return ""


def check_stream_name(name: str) -> None:
    """Refuse a stream name that could not be part of a table's or asset's name."""
    if not _IDENTIFIER.fullmatch(name):
        raise DeclarationError(
            f"'{_shortened(name)}' cannot name a stream.",
            remedy="use letters, digits and underscores, beginning with a letter.",
        )
    _check_length(name, "a stream or release")


def _check_length(name: str, what: str) -> None:
    if len(name) > LONGEST_NAME:
        raise DeclarationError(
            f"'{_shortened(name)}' cannot name {what}: it has {len(name)} characters.",
            remedy=f"use at most {LONGEST_NAME}.",
        )


def check_column_name(table: str, name: str, *, nested: bool = False) -> None:
    """Refuse a column name that is reserved or no identifier; inside a struct nothing is reserved."""
    folded = name.casefold()
    if not nested and folded in RESERVED_NAMES:
        raise DeclarationError(
            f"{table}: the column name '{name}' is reserved by Iceberg.", remedy="choose another name."
        )
    if not nested and folded in COORDINATE_NAMES:
        raise DeclarationError(
            f"{table}: the column '{name}' is a Kafka coordinate, which every streamed table gets by itself.",
            remedy="leave it out, or choose another name.",
        )
    if not _IDENTIFIER.fullmatch(name):
        raise DeclarationError(
            f"{table}: '{name}' cannot name a column.",
            remedy="use letters, digits and underscores, beginning with a letter; if messages call it so, give another "
            "name the metadata {'alias': …}.",
        )


def check_topic_name(stream: str, topic: str) -> None:
    """Refuse what Kafka would refuse."""
    if not _TOPIC.fullmatch(topic) or topic in (".", ".."):
        raise DeclarationError(
            f"Stream {stream}: '{_shortened(topic)}' cannot name a topic.",
            remedy="use at most 249 letters, digits, dots, underscores and hyphens.",
        )


def _shortened(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[:20]}…"
