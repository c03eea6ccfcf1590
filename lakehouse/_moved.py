"""Names that are imported when they are asked for (PEP 562), and names that have moved."""

import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def resolve(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package whose names are loaded one by one.

    Args:
        package: its name.
        homes: name → module that has it.
    """

    def resolved(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(homes[name]), name)

    return resolved


def moved(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package that is gone: its names go on working for one release, with a warning.

    Args:
        package: its name.
        homes: name → package to import it from instead.
    """
    attribute = resolve(package, homes)

    def warned(name: str) -> Any:
        value = attribute(name)
        message = f"{package}.{name} is imported from {homes[name]} now; {package} goes with the next release"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return value

    return warned
