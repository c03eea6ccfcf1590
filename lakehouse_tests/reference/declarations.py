"""`docs/reference/declarations.md`: every field of what users declare, from the docstrings of the classes."""

from collections.abc import Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

import lakehouse
from lakehouse_tests.reference.lines import attributes, head, item, sentence, shown, summary, wrapped

SECTIONS = {
    "Tables": ("Table", "DropDuplicates", "Evolution"),
    "Streams": (
        "Stream",
        "ToTable",
        "ToAll",
        "ByField",
        "ByHeader",
        "ByTopic",
        "ToNamed",
        "BySource",
        "Topics",
        "TopicPattern",
        "Start",
        "Trigger",
        "Avro",
        "JsonSchema",
        "Protobuf",
        "Raw",
        "Mixed",
    ),
    "Changes": ("Changelog", "Mirror", "Debezium", "Dms", "Flat"),
    "Derived tables": ("Derived", "ByDay", "ByMonth", "ByValue"),
    "Expectations": ("Rows", "References", "Drift", "SampleOf", "SameValues", "Histogram"),
    "Releases": ("Release",),
    "Maintenance": ("Maintenance", "Rewrite", "Manifests", "Expire", "Orphans", "Statistics", "Deduplicate"),
}


def page() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def declared() -> list[str]:
    """All names that users declare with."""
    public = ((name, getattr(lakehouse, name)) for name in lakehouse.__all__)
    return [name for name, value in public if isinstance(value, type) and is_dataclass(value)]


def _lines() -> Iterator[str]:
    yield from head(
        "Declarations",
        "Every field of what is declared below `conf/declarations/`. All of it is imported from `lakehouse`.",
    )
    for title, names in SECTIONS.items():
        yield from ("", f"## {title}")
        for name in names:
            yield from _class(getattr(lakehouse, name))


def _class(kind: Any) -> Iterator[str]:
    yield from ("", f"### `{kind.__name__}`", "")
    yield from wrapped(summary(kind))
    documented = attributes(kind)
    listed = [line for field in fields(kind) if not field.name.startswith("_") for line in _field(field, documented)]
    yield from (["", *listed] if listed else [])


def _field(field: Field[Any], documented: Any) -> list[str]:
    text = sentence(documented[field.name]) if field.name in documented else ""
    return item(field.name, f"{text} {_default(field)}")


def _default(field: Field[Any]) -> str:
    if field.default is not MISSING:
        return f"Default: {shown(field.default)}."
    if field.default_factory is not MISSING:
        return f"Default: {shown(field.default_factory())}."
    return "To be given."
