"""What a computation is given as its parameters: a mapping that tells a slip by name, and notes what is read of it."""

import re
from collections.abc import ItemsView, Iterator, KeysView, ValuesView
from typing import Any, NoReturn, Self

from typing_extensions import override

from lakehouse.declarations import Derived
from lakehouse.settings import Parameter, Parameters
from lakehouse.steps.derived.refusals import ParameterNotDeclared

# `:name`, and no cast (`x::int`). What only looks like one, as in a text, counts as used: too many rather than too few.
_MARKER = re.compile(r"(?<!:):([A-Za-z]\w*)")


class UsedParameters(dict[str, Parameter]):
    """Parameters of a run for one computation.

    Whoever reads one by its name, or asks whether there is one, has used that one. Whoever goes through them, or sends
    them to Spark's Python workers, may have used any, and so has used all.
    """

    def __init__(self, asker: str, parameters: Parameters) -> None:
        """Take the run's.

        Args:
            asker: who computes with them, for the error that names a slip.
            parameters: of the run.
        """
        super().__init__(parameters)
        self._asker = asker
        self._given = dict(parameters)
        self._used: set[str] = set()

    @classmethod
    def of(cls, derived: Derived, parameters: Parameters) -> Self:
        """For the computation of a derived table."""
        return cls(f"{derived.name}: function {getattr(derived.compute, '__name__', '')}", parameters)

    @property
    def used(self) -> frozenset[str]:
        """Names of those that were read until now."""
        return frozenset(self._used)

    @property
    def given(self) -> Parameters:
        """All of the run, as nobody has changed them; to look at them is no use."""
        return self._given

    def named_in(self, text: str) -> dict[str, Parameter]:
        """Those that a SQL text names."""
        return {name: self[name] for name in dict.fromkeys(_MARKER.findall(text)) if name in self}

    def __missing__(self, name: str) -> NoReturn:
        raise ParameterNotDeclared(self._asker, name, list(super().keys()))

    @override
    def __getitem__(self, name: str, /) -> Parameter:
        self._note(name)
        return super().__getitem__(name)

    @override
    def get(self, name: str, default: Any = None, /) -> Any:
        self._note(name)
        return super().get(name, default)

    @override
    def __contains__(self, name: object, /) -> bool:
        self._note(name)
        return super().__contains__(name)

    @override
    def pop(self, name: str, /, *default: Any) -> Any:
        self._note(name)
        return super().pop(name, *default)

    @override
    def setdefault(self, name: str, default: Any = None, /) -> Any:
        self._note(name)
        return super().setdefault(name, default)

    @override
    def popitem(self) -> tuple[str, Parameter]:
        self._note_all()
        return super().popitem()

    @override
    def __iter__(self) -> Iterator[str]:
        self._note_all()
        return super().__iter__()

    @override
    def __reversed__(self) -> Iterator[str]:
        self._note_all()
        return super().__reversed__()

    @override
    def keys(self) -> KeysView[str]:  # pyright: ignore[reportIncompatibleMethodOverride]
        self._note_all()
        return dict(super().items()).keys()

    @override
    def values(self) -> ValuesView[Parameter]:  # pyright: ignore[reportIncompatibleMethodOverride]
        self._note_all()
        return dict(super().items()).values()

    @override
    def items(self) -> ItemsView[str, Parameter]:  # pyright: ignore[reportIncompatibleMethodOverride]
        self._note_all()
        return dict(super().items()).items()

    @override
    def copy(self) -> dict[str, Parameter]:
        self._note_all()
        return dict(super().items())

    @override
    def __eq__(self, other: object) -> bool:
        self._note_all()
        return super().__eq__(other)

    @override
    def __ne__(self, other: object) -> bool:
        self._note_all()
        return super().__ne__(other)

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    @override
    def __or__(self, other: Any) -> Any:
        return self.copy() | other

    @override
    def __ror__(self, other: Any) -> Any:
        return other | self.copy()

    @override
    def __repr__(self) -> str:
        return repr(self.copy())

    @override
    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        # Python workers of Spark, which may be elsewhere, need none of this to read a function that holds it.
        return dict, (self.copy(),)

    def _note(self, name: object) -> None:
        if isinstance(name, str) and super().__contains__(name):
            self._used.add(name)

    def _note_all(self) -> None:
        self._used.update(super().keys())
