"""What a table may not decide: which code runs in our process, and to which storage our secrets are handed.

PyIceberg lays a table's properties over the catalog's when it opens storage. Whoever may write a table, or register
one, could so name a class (`py-io-impl`) that is imported here and given every secret of the catalog, or an endpoint to
which they are sent. So a table's own properties are not asked: what names Python code is not even seen.
"""

from collections.abc import Mapping
from typing import Any

from pyiceberg.table.metadata import TableMetadata

# Of a table's properties, those by which PyIceberg imports a class; Java has names of its own.
_OF_TABLES = frozenset({"py-io-impl", "py-catalog-impl", "s3.retry-strategy-impl", "write.py-location-provider.impl"})
# `auth` names a class, too; `auth.impl` and the like are within it.
_AUTH = "auth"


def names_code(key: str) -> bool:
    """Whether a property of a catalog or its storage names a class that would be imported."""
    name = key.lower()
    return name.endswith(("-impl", ".impl")) or name == _AUTH


def without_code(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The properties of a catalog or its storage, without those that name a class."""
    return {key: value for key, value in properties.items() if not names_code(key)}


def code_free(metadata: TableMetadata) -> TableMetadata:
    """A table's metadata as it is used here: without properties that name a Python class.

    Its document keeps them: they are somebody's, and commits change properties one by one.
    """
    if _OF_TABLES.isdisjoint(metadata.properties):
        return metadata
    properties = {key: value for key, value in metadata.properties.items() if key not in _OF_TABLES}
    return metadata.model_copy(update={"properties": properties})
