"""Values of another JSON type than metadata have there: PyIceberg takes "12" and 12.0 for 12, and Java does not."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_Kinds = Mapping[str, str]
_LONG, _INT, _TEXT, _FLAG, _TEXTS = "long", "int", "text", "flag", "texts"
_RANGES = {_LONG: 2**63, _INT: 2**31}
_DOCUMENT: _Kinds = {
    "table-uuid": _TEXT,
    "location": _TEXT,
    "last-sequence-number": _LONG,
    "last-updated-ms": _LONG,
    "last-column-id": _INT,
    "current-schema-id": _INT,
    "default-spec-id": _INT,
    "last-partition-id": _INT,
    "default-sort-order-id": _INT,
    "current-snapshot-id": _LONG,
    "next-row-id": _LONG,
    "properties": _TEXTS,
}
_SNAPSHOT: _Kinds = {
    "snapshot-id": _LONG,
    "parent-snapshot-id": _LONG,
    "sequence-number": _LONG,
    "timestamp-ms": _LONG,
    "schema-id": _INT,
    "manifest-list": _TEXT,
    "summary": _TEXTS,
}
_REFERENCE: _Kinds = {
    "snapshot-id": _LONG,
    "type": _TEXT,
    "min-snapshots-to-keep": _INT,
    "max-snapshot-age-ms": _LONG,
    "max-ref-age-ms": _LONG,
}
_LOGS: Mapping[str, _Kinds] = {
    "snapshot-log": {"snapshot-id": _LONG, "timestamp-ms": _LONG},
    "metadata-log": {"metadata-file": _TEXT, "timestamp-ms": _LONG},
}
FIELD: _Kinds = {"id": _INT, "name": _TEXT, "required": _FLAG}
PARTITION_FIELD: _Kinds = {"source-id": _INT, "field-id": _INT, "name": _TEXT, "transform": _TEXT}
SORT_FIELD: _Kinds = {"source-id": _INT, "transform": _TEXT, "direction": _TEXT, "null-order": _TEXT}
# Version of the format → what its documents have to have. A missing last-sequence-number is 0: PyIceberg leaves it out
# where it upgrades a table from format 1, and reads it so; below the number of a snapshot it is a contradiction.
_REQUIRED = {
    "last-updated-ms": 1,
    "table-uuid": 2,
    "current-schema-id": 2,
    "default-spec-id": 2,
    "last-partition-id": 2,
    "sort-orders": 2,
    "default-sort-order-id": 2,
    "next-row-id": 3,
}
# Of the objects in it likewise: where these are missing, PyIceberg takes the present time, or what is most usual.
_REQUIRED_PARTS = frozenset(("timestamp-ms", "required", "direction", "null-order"))
_NEVER_NULL = frozenset(("parent-snapshot-id", "sequence-number", "summary", "properties"))
_LISTS = ("statistics", "partition-statistics")


def odd_values(document: Mapping[str, Any]) -> Iterator[str]:
    """What of a document is missing or of another type, but for its snapshots, as the end of a sentence."""
    version = document.get("format-version") or 1
    for key, since in _REQUIRED.items():
        if version >= since and document.get(key) is None:
            yield f"`{key}` is missing, which version {version} of the format requires"
    yield from odd_parts(document, _DOCUMENT, "")
    for key in _LISTS:
        if key in document and not isinstance(document[key], list):
            yield f"`{key}` is no list"
    references = document.get("refs")
    if not isinstance(references, dict) and "refs" in document:
        yield "`refs` is no object"
        return
    for name, reference in (references or {}).items():
        yield from odd_parts(reference, _REFERENCE, f"refs.{name}.")
    for log, kinds in _LOGS.items():
        yield from odd_items(document, log, kinds)


def odd_snapshot(snapshot: Mapping[str, Any]) -> str | None:
    """The first value of a snapshot that is of another type; None if there is none."""
    return next(odd_parts(snapshot, _SNAPSHOT, f"snapshot {snapshot.get('snapshot-id')}: "), None)


def odd_items(parent: Mapping[str, Any], key: str, kinds: _Kinds) -> Iterator[str]:
    """What is odd in a list of objects that an object may have."""
    items = parent.get(key)
    if not isinstance(items, list | None):
        yield f"`{key}` is no list"
        return
    if items and all(kind in _RANGES for kind in kinds.values()) and _are_numbers(items, kinds):
        return
    for number, item in enumerate(items or ()):
        yield from odd_parts(item, kinds, f"{key}[{number}].")


def _are_numbers(items: Sequence[Any], kinds: _Kinds) -> bool:
    """Whether each object has all of these, and each fits: quickly, as a log has an entry for each commit."""
    try:
        columns = [([item[key] for item in items], _RANGES[kind]) for key, kind in kinds.items()]
        return all(
            {*map(type, values)} == {int} and -bound <= min(values) <= max(values) < bound for values, bound in columns
        )
    except (KeyError, TypeError):
        return False


def odd_parts(parent: Any, kinds: _Kinds, path: str) -> Iterator[str]:
    """What is odd in an object, or missing in it; most of it may be left out, or be null."""
    if not isinstance(parent, dict):
        yield f"`{path.rstrip('.: ')}` is no object"
        return
    for key, kind in kinds.items():
        value = parent.get(key)
        if key in _REQUIRED_PARTS and key not in parent:
            yield f"`{path}{key}` is missing"
        if value is None and key in _NEVER_NULL and key in parent:
            yield f"`{path}{key}` is null, and has to be {_WORDS[kind]}"
        if value is not None and not _fits(value, kind):
            yield f"`{path}{key}` is {_shown(value)}, and has to be {_WORDS[kind]}"


_WORDS = {
    _LONG: "an integer of 64 bits",
    _INT: "an integer of 32 bits",
    _TEXT: "a text",
    _FLAG: "true or false",
    _TEXTS: "an object of texts",
}


def _fits(value: Any, kind: str) -> bool:
    if kind in _RANGES:
        return type(value) is int and -_RANGES[kind] <= value < _RANGES[kind]
    if kind == _TEXTS:
        return isinstance(value, dict) and all(isinstance(part, str) for part in value.values())
    return isinstance(value, bool if kind == _FLAG else str)


def _shown(value: Any) -> str:
    """A number or text as it is written; of anything longer, what it is: properties may hold a secret."""
    if isinstance(value, dict | Sequence) and not isinstance(value, str):
        return f"a {type(value).__name__}"
    text = repr(value)
    return text if len(text) < 40 else f"{text[:40]}…"
