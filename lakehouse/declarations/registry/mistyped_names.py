"""What somebody may have meant who wrote a name that there is not: the remedies of declarations that do not load."""

import difflib
import inspect
import re
from collections.abc import Iterable, Mapping

from lakehouse.settings.document import meant

MOST_NAMES = 8
"""More names than that are not read in a line."""
_IMPORTED = re.compile(r"cannot import name '(\w+)' from 'lakehouse'")
_KEYWORD = re.compile(r"(\w+)\.__init__\(\) got an unexpected keyword argument '(\w+)'")


def declare_or_use(name: str, known: Iterable[str]) -> str:
    """The remedy for a table that is not declared: the ones with a similar name, or all where these are few."""
    names = sorted(known)
    if similar := difflib.get_close_matches(name, names, n=3, cutoff=0.75):
        return f"did you mean {' or '.join(similar)}? Otherwise declare it."
    if len(names) > MOST_NAMES:
        return "declare it, or use one of those that `lakehouse tables` lists."
    return f"declare it, or use one of {', '.join(names)}." if names else "declare it."


def correction(error: BaseException, public: Mapping[str, object]) -> str:
    """The remedy for an error that a file of declarations raised.

    Args:
        error: what it raised.
        public: name → what a file may import from `lakehouse`.
    """
    if isinstance(error, NameError) and error.name in public:
        return f"add `from lakehouse import {error.name}`."
    if isinstance(error, ModuleNotFoundError) and error.name and not error.name.startswith("lakehouse"):
        return f"install {error.name} where this runs, or correct the file."
    if similar := meant(*_mistyped(error, public)):
        return f"{similar}leave it out."
    return "correct the file."


def _mistyped(error: BaseException, public: Mapping[str, object]) -> tuple[str, Iterable[str]]:
    """The name that an error is about, and all of its kind that there are."""
    if isinstance(error, ImportError) and (imported := _IMPORTED.match(str(error))):
        return imported[1], public
    match = _KEYWORD.fullmatch(str(error)) if isinstance(error, TypeError) else None
    if match and callable(named := public.get(match[1])):
        return match[2], inspect.signature(named).parameters
    return "", ()
