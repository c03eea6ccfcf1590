"""Run-wide parameters: what every derived table of a run is computed with, beside its date."""

import hashlib
import math
import re
from collections.abc import Mapping
from typing import cast

import msgspec

from lakehouse.settings.plain_secret import names_a_secret

Parameter = bool | int | float | str
Parameters = Mapping[str, Parameter]
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_LONG = 2**63


def problem_of(name: str, value: object) -> str | None:
    """What is wrong with a parameter, in words that show no value; None if it can be used."""
    if not _NAME.fullmatch(name) or name.casefold() == "runtime_date":
        return "cannot name a parameter: use letters, digits and underscores, and not runtime_date"
    if names_a_secret(name):
        return "names a secret, and parameters are written into every seal"
    return _problem_of_value(value)


def _problem_of_value(value: object) -> str | None:
    if not isinstance(value, bool | int | float | str):
        return "is no text, number or flag"
    if isinstance(value, float) and not math.isfinite(value):
        return "is no finite number, and JSON, in which seals keep parameters, has no others"
    if isinstance(value, int) and not -_LONG <= value < _LONG:
        return "is beyond 64 bits, and Spark has no such integer; write it as a text, or with a fraction"
    if isinstance(value, str) and not _is_unicode(value):
        return "has half of a character (a lone surrogate), which no file can hold"
    return None


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def laid_over(declared: Parameters, given: Mapping[str, object]) -> dict[str, Parameter] | list[str]:
    """The declared parameters with those that are given for one run, or what is wrong with these.

    A parameter that is not declared is refused: a misspelt one would otherwise change nothing, and nobody would notice.
    """
    problems: list[str] = []
    merged = dict(declared)
    for name, value in given.items():
        if name not in declared:
            problems.append(f"{name} is not declared (there is {', '.join(sorted(declared)) or 'none'})")
        elif (problem := problem_of(name, value)) is not None:
            problems.append(f"{name} {problem}")
        elif (fitting := _like(declared[name], cast("Parameter", value))) is None:
            problems.append(f"{name} is a {type(value).__name__}, not a {type(declared[name]).__name__}")
        else:
            merged[name] = fitting
    return problems or merged


def digest_of(content: object) -> str:
    """A short name for parameters, or for the value of one: equal for what is equal."""
    return hashlib.sha256(msgspec.json.encode(content, order="deterministic")).hexdigest()[:16]


def value_digests(parameters: Parameters) -> dict[str, str]:
    """Parameter → the digest of its value, as seals name it."""
    return {name: digest_of(value) for name, value in sorted(parameters.items())}


def _like(declared: Parameter, value: Parameter) -> Parameter | None:
    """The value, if it is of the declared kind; a whole number is also a number with a fraction."""
    if type(declared) is type(value):
        return value
    return float(value) if type(declared) is float and type(value) is int else None
