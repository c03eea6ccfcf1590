"""What the generated pages share: their width, and what a docstring says of a class and of its fields."""

import inspect
import re
from collections.abc import Mapping
from datetime import timedelta
from textwrap import wrap
from typing import Any

from lakehouse_tests.mechanisms.page import WIDTH

_UNITS = tuple((timedelta(**{unit: 1}), name) for unit, name in (("days", "d"), ("hours", "h"), ("minutes", "min")))
_GIB, _MIB = 1024**3, 1024**2
COMMAND = ".venv/bin/python -m lakehouse_tests.reference"


def head(title: str, *says: str) -> list[str]:
    """How a generated page begins."""
    return [f"# {title}", "", *(line for text in says for line in wrapped(text)), f"`{COMMAND}` writes this page."]


def wrapped(text: str, first: str = "", indent: str = "") -> list[str]:
    """Lines of a page."""
    plain = " ".join(text.split())
    return wrap(
        plain,
        WIDTH,
        initial_indent=first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def item(name: str, text: str) -> list[str]:
    """An item of a list, with its name in front."""
    return wrapped(f"**`{name}`** {text}" if text else f"**`{name}`**", "- ", "  ")


def summary(documented: object) -> str:
    """The docstring up to its sections, in one paragraph."""
    return re.split(r"\n\n(?:Attributes|Args|Raises|Returns):", inspect.getdoc(documented) or "")[0]


def attributes(documented: object) -> Mapping[str, str]:
    """Field → what the section `Attributes` of the docstring says of it."""
    section = (inspect.getdoc(documented) or "").partition("Attributes:\n")[2].partition("\n\n")[0]
    items: list[list[str]] = []
    for line in section.splitlines():
        if re.match(r"    \w+: ", line):
            items.append([line.strip()])
        else:
            items[-1].append(line.strip())
    pairs = (" ".join(lines).partition(": ") for lines in items)
    return {name: text for name, _, text in pairs}


def sentence(text: str) -> str:
    """With a capital letter and an end."""
    begun = text[:1].upper() + text[1:] if re.match(r"[a-z]+[ ,]", text) else text
    return begun if begun.endswith((".", "!", "?", ":")) else f"{begun}."


def shown(value: Any) -> str:
    """A default, as a page has it."""
    if isinstance(value, timedelta):
        unit, name = next((unit, name) for unit, name in _UNITS if value % unit == timedelta(0))
        return f"{value // unit} {name}"
    if isinstance(value, int) and not isinstance(value, bool) and value >= _MIB and value % _MIB == 0:
        return f"{value / _GIB:g} GiB" if value >= _GIB else f"{value / _MIB:g} MiB"
    return f"`{type(value).__name__}()`" if hasattr(value, "__dataclass_fields__") else f"`{value!r}`"
