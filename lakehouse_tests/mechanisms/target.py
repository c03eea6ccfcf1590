"""Finds the function that keeps a mechanism, and puts another in its place, wherever it was imported to."""

import importlib
import inspect
import sys
from dataclasses import dataclass
from typing import Any

from lakehouse_tests.mechanisms.mechanism import Breaking, Function

_PACKAGES = ("lakehouse", "lakehouse_tests")


class TargetMissing(LookupError):
    """There is no such function any more."""


@dataclass(frozen=True)
class Target:
    """A function of a module, or of a class.

    Args:
        owner: the module or class.
        name: of the attribute.
        stored: what the owner has under that name: a function, or what makes one a property or a class method.
        function: the function itself.
    """

    owner: Any
    name: str
    stored: Any
    function: Function

    @classmethod
    def of(cls, path: str) -> "Target":
        """Resolve `module:function` or `module:Class.method`.

        Raises:
            TargetMissing: module, class or function is not there.
        """
        module, _, within = path.partition(":")
        *classes, name = within.split(".")
        try:
            owner: Any = importlib.import_module(module)
            for part in classes:
                owner = getattr(owner, part)
            stored = inspect.getattr_static(owner, name)
        except (ImportError, AttributeError) as error:
            raise TargetMissing(f"{path}: {error}") from error
        function = stored.fget if isinstance(stored, property) else getattr(stored, "__func__", stored)
        if not callable(function):
            raise TargetMissing(f"{path} is no function")
        return cls(owner, name, stored, function)

    def replace(self, breaking: Breaking) -> Function:
        """Put what lets everything pass in its place; returns it."""
        passing = breaking(self.function)
        kind = type(self.stored) if isinstance(self.stored, classmethod | staticmethod | property) else None
        setattr(self.owner, self.name, kind(passing) if kind else passing)
        return passing

    def rebind(self, passing: Function) -> None:
        """Do the same in modules that have imported the function by its name already."""
        for module in list(sys.modules.values()):
            if getattr(module, "__name__", "").partition(".")[0] in _PACKAGES:
                for name, value in list(vars(module).items()):
                    if value is self.function:
                        setattr(module, name, passing)
