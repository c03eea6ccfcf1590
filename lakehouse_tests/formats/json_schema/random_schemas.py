"""Random JSON Schemas, and values of which some are valid against them."""

from typing import Any

from hypothesis import strategies as st

DRAFTS = (
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
    "",
)
NAMES = st.sampled_from(["a", "b", "bb", "c"])
_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=4) | st.sampled_from(["a", "bb", "2026-01-01"])
_NUMBER = (
    st.integers(-5, 12)
    | st.integers(-(2**70), 2**70)
    | st.sampled_from([0.0, -0.0, 1.0, 3.0, 0.5, -2.5, 1e20, 1e300])
    | st.floats(allow_nan=False, allow_infinity=False)
)
_SCALAR = st.none() | st.booleans() | _NUMBER | _TEXT
VALUES = st.recursive(
    _SCALAR, lambda below: st.lists(below, max_size=4) | st.dictionaries(NAMES, below, max_size=4), max_leaves=10
)
RECORDS = st.dictionaries(NAMES, VALUES, max_size=4)
_PATTERNS = st.sampled_from(["^a", "b$", "[0-9]+", "^(a|bb)$", "^.{2}$", ""])
_COUNT = st.integers(0, 3)
_TYPE = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])
_OLD_BOUNDS = (DRAFTS[0],)


def _optional(**members: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=members)


def _leaves(draft: str) -> st.SearchStrategy[dict[str, Any]]:
    old = draft in _OLD_BOUNDS
    bounds = {"exclusiveMinimum": _NUMBER, "exclusiveMaximum": _NUMBER, "const": VALUES}
    return st.one_of(
        _optional(type=_TYPE | st.lists(_TYPE, min_size=1, max_size=3, unique=True)),
        _optional(
            type=_TYPE,
            minimum=_NUMBER,
            maximum=_NUMBER,
            multipleOf=st.integers(1, 4),
            **({} if old else bounds),
        ),
        _optional(minLength=_COUNT, maxLength=_COUNT, pattern=_PATTERNS, format=st.sampled_from(["date", "email"])),
        _optional(minItems=_COUNT, maxItems=_COUNT, uniqueItems=st.booleans()),
        _optional(
            minProperties=_COUNT,
            maxProperties=_COUNT,
            required=st.lists(NAMES, min_size=1, max_size=2, unique=True),
        ),
        st.lists(VALUES, min_size=1, max_size=3).map(lambda values: {"enum": values}),
        st.just({"$ref": "#"}).map(lambda ref: {"properties": {"c": ref}}),
    )


def _nested(draft: str, below: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    several = st.lists(below, min_size=1, max_size=3)
    by_name = st.dictionaries(NAMES, below, min_size=1, max_size=3)
    tuples = {"prefixItems": several} if draft in DRAFTS[4:] else {"additionalItems": below}
    items = below if draft in DRAFTS[4:] else below | several
    newer: dict[str, st.SearchStrategy[Any]] = {}
    if draft not in DRAFTS[:1]:
        newer |= {"contains": below, "propertyNames": below}
    if draft not in DRAFTS[:2]:
        newer |= {"if": below, "then": below, "else": below}
    if draft not in DRAFTS[:3]:
        newer |= {
            "dependentSchemas": by_name,
            "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, max_size=2, unique=True), max_size=2),
            "unevaluatedProperties": below,
        }
    else:
        newer |= {"dependencies": by_name}
    return st.one_of(
        _optional(properties=by_name, additionalProperties=below | st.booleans(), **newer),
        _optional(patternProperties=st.dictionaries(_PATTERNS, below, min_size=1, max_size=2), properties=by_name),
        _optional(items=items, **tuples),
        _optional(allOf=several, anyOf=several, oneOf=several),
        st.fixed_dictionaries({"not": below}),
    )


def _schemas(draft: str) -> st.SearchStrategy[dict[str, Any]]:
    root = st.recursive(_leaves(draft), lambda below: _nested(draft, below), max_leaves=8)
    named = st.just({"$schema": draft} if draft else {})
    return st.tuples(named, root).map(lambda parts: {**parts[1], **parts[0]})


SCHEMAS = st.sampled_from(DRAFTS).flatmap(_schemas)
