"""What a computation is given as its parameters: a mapping that tells a slip by name, and notes what is read of it."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Self

from typing_extensions import override

from lakehouse.declarations import Derived
from lakehouse.settings import Parameter, Parameters
from lakehouse.steps.derived.refusals import ParameterNotDeclared

# `:name`, and no cast (`x::int`). What only looks like one, as in a text, counts as used: too many rather than too few.
_MARKER = re.compile(r"(?<!:):([A-Za-z]\w*)")


class UsedParameters(Mapping[str, Parameter]):
    """Parameters of a run for one computation.

    Whoever reads one by its name, or asks whether there is one, has used that one. Whoever goes through them, or sends
    them to Spark's Python workers, may have used any, and so has used all. It is no `dict`: what is written in C reads
    a `dict` past its methods, unnoted. Such a reader fails here, and is given `dict(parameters)`.
    """

    def __init__(self, asker: str, parameters: Parameters) -> None:
        """Take the run's.

        Args:
            asker: who computes with them, for the error that names a slip.
            parameters: of the run.
        """
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

    @override
    def __getitem__(self, name: str, /) -> Parameter:
        self._note(name)
        if name not in self._given:
            raise ParameterNotDeclared(self._asker, name, list(self._given))
        return self._given[name]

    @override
    def get(self, name: str, default: Any = None, /) -> Any:
        self._note(name)
        return self._given.get(name, default)

    @override
    def __contains__(self, name: object, /) -> bool:
        self._note(name)
        return name in self._given

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self.copy())

    def __reversed__(self) -> Iterator[str]:
        return reversed(self.copy())

    @override
    def __len__(self) -> int:
        return len(self._given)

    def copy(self) -> dict[str, Parameter]:
        """All of them, in a `dict`."""
        self._used.update(self._given)
        return dict(self._given)

    @override
    def __eq__(self, other: object) -> bool:
        return self.copy() == other

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __or__(self, other: Any) -> Any:
        return self.copy() | other

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
        if isinstance(name, str) and name in self._given:
            self._used.add(name)
