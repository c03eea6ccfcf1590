"""Schemas that refer to themselves without going into a value, so that no answer ever comes."""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urljoin

_SINGLE_SCHEMAS = ("not", "if", "then", "else")
_SEVERAL = ("allOf", "anyOf", "oneOf")
_BY_NAME = ("dependentSchemas", "dependencies")
_REFERENCES = ("$ref", "$recursiveRef", "$dynamicRef")
_OLD = ("draft-03", "draft-04", "draft-06", "draft-07")


def endless(schema: Any, base: str, others: Mapping[str, Any]) -> str:
    """Where a schema applies itself to the same value again; empty where it does so nowhere.

    A schema that describes a tree is none: there each step goes to a part of the value.

    Args:
        schema: parsed.
        base: what it is called.
        others: address → parsed schema that it may refer to.
    """
    documents = {base.rstrip("#"): schema, **{address.rstrip("#"): other for address, other in others.items()}}
    done: set[int] = set()
    for address, document in documents.items():
        for part in _objects(document):
            if id(part) not in done and (circle := _circle(address, part, documents, done)):
                return circle
    return ""


def _circle(address: str, start: Any, documents: Mapping[str, Any], done: set[int]) -> str:
    """A keyword that leads back to a schema which is not done with the value yet."""
    entered = {id(start)}
    stack = [(start, _same_value(address, start, documents))]
    while stack:
        node, following = stack[-1]
        for where, name, further in following:
            if id(further) in entered:
                return name
            if id(further) not in done and isinstance(further, dict):
                entered.add(id(further))
                stack.append((further, _same_value(where, further, documents)))
                break
        else:
            stack.pop()
            entered.remove(id(node))
            done.add(id(node))
    return ""


def _same_value(address: str, node: Any, documents: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """The schemas that one applies to the same value: in which document, by which keyword, and they themselves."""
    for keyword in _REFERENCES:
        if isinstance(reference := node.get(keyword), str):
            document, _, fragment = urljoin(address, reference).partition("#")
            if document in documents:
                yield document, f"{keyword} {reference}", _pointed(documents[document], unquote(fragment))
    if "$ref" in node and _is_old(documents.get(address)):
        return
    for keyword in _SINGLE_SCHEMAS:
        yield address, keyword, node.get(keyword)
    for keyword in _SEVERAL:
        several = node.get(keyword)
        for further in several if isinstance(several, list) else []:
            yield address, keyword, further
    for keyword in _BY_NAME:
        by_name = node.get(keyword)
        for further in by_name.values() if isinstance(by_name, dict) else []:
            yield address, keyword, further


def _is_old(document: Any) -> bool:
    """Whether what stands beside a reference counts for nothing."""
    draft = document.get("$schema") if isinstance(document, dict) else None
    return isinstance(draft, str) and any(name in draft for name in _OLD)


def _pointed(document: Any, fragment: str) -> Any:
    """What a JSON pointer, or the name of an anchor, leads to; nothing where that is nowhere."""
    if fragment and not fragment.startswith("/"):
        anchors = ("$anchor", "$dynamicAnchor")
        return next((part for part in _objects(document) if fragment in map(part.get, anchors)), None)
    for step in fragment.split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(document, dict):
            document = document.get(name)
        elif isinstance(document, list) and name.isdecimal() and int(name) < len(document):
            document = document[int(name)]
        else:
            return None
    return document


def _objects(document: Any) -> Iterator[dict[str, Any]]:
    """All objects of a document."""
    stack = [document]
    while stack:
        part = stack.pop()
        if isinstance(part, dict):
            yield part
        if isinstance(part, dict | list):
            stack += part.values() if isinstance(part, dict) else part
