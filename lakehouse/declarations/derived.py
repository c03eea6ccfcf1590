"""A derived table, declared once: what it is computed from, and how."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from pyspark.sql import DataFrame

from lakehouse.declarations.columns.error import DeclarationError
from lakehouse.declarations.columns.names import check_input_name
from lakehouse.declarations.storage.partitions import Partitions, check_aligned
from lakehouse.declarations.table import Table
from lakehouse.iceberg.names import is_elsewhere

Computation = Callable[..., DataFrame]
DeriveMode = Literal["full", "incremental"]
# What a function may ask for beside its inputs.
RUN_ARGUMENTS = ("runtime_date", "parameters")


@dataclass(frozen=True, kw_only=True, eq=False)
class Derived:
    """A table computed from other tables.

    Attributes:
        table: what comes out.
        inputs: name of an argument → `namespace.table` that it stands for, of another catalog
            `catalog:namespace.table`.
        compute: a function that takes its inputs as Spark frames, by name, and returns one; it may also ask for
            `runtime_date` (a `date`) and `parameters` (a mapping). Or a SQL text, in which each argument is a table and
            `:runtime_date` and `:name` of a parameter are values.
        mode: `full` computes the table anew; `incremental` appends what the new rows of `follows` give.
        follows: the argument that an incremental computation sees only the new rows of; all others it sees in full.
        partitions: how it is computed part by part, for backfills; the whole table at once if None.
    """

    table: Table
    inputs: Mapping[str, str]
    compute: Computation | str
    mode: DeriveMode = "full"
    follows: str | None = None
    partitions: Partitions | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot work, before anything is read.

        Raises:
            DeclarationError: says what and what to do.
        """
        self._check_inputs()
        self._check_mode()
        self._check_table()
        if not isinstance(self.compute, str):
            self._check_arguments(self.compute)

    @property
    def name(self) -> str:
        """`namespace.table`."""
        return self.table.name

    def __call__(self, **frames: object) -> DataFrame:
        """Compute, as the function that was declared does: a test needs frames and nothing else.

        Raises:
            TypeError: it is declared as SQL, or an argument is missing or unknown.
        """
        if isinstance(self.compute, str):
            raise TypeError(f"{self.name} is declared as SQL")
        return self.compute(**frames)

    @property
    def asks_for(self) -> tuple[str, ...]:
        """Which of `runtime_date` and `parameters` the function takes; SQL may use both."""
        if isinstance(self.compute, str):
            return RUN_ARGUMENTS
        return tuple(name for name in RUN_ARGUMENTS if name in inspect.signature(self.compute).parameters)

    def _check_inputs(self) -> None:
        if not self.inputs:
            raise DeclarationError(f"{self.name}: nothing to compute from.", remedy="declare its inputs.")
        for argument, name in self.inputs.items():
            check_input_name(name)
            if not argument.isidentifier() or argument in RUN_ARGUMENTS:
                raise DeclarationError(f"{self.name}: '{argument}' cannot name an input.", remedy="choose another.")
        if len(set(self.inputs.values())) < len(self.inputs) or self.name in self.inputs.values():
            raise DeclarationError(
                f"{self.name}: an input is named twice, or is the table itself.", remedy="name each input once."
            )

    def _check_mode(self) -> None:
        if self.mode not in ("full", "incremental") or (self.mode == "incremental") != (self.follows is not None):
            raise DeclarationError(
                f"{self.name}: mode is '{self.mode}' and follows is {self.follows!r}.",
                remedy="write mode='incremental' with follows='…', or leave both out.",
            )
        if self.follows is not None and (self.follows not in self.inputs or self.partitions is not None):
            raise DeclarationError(
                f"{self.name}: follows names no input, or the table is partitioned as well.",
                remedy=f"use one of {', '.join(self.inputs)}, without partitions.",
            )

        if self.follows is not None and is_elsewhere(self.inputs[self.follows]):
            raise DeclarationError(
                f"{self.name}: follows {self.inputs[self.follows]}, a table of another catalog, where nothing of ours "
                "holds the snapshots that are still to be read.",
                remedy="compute it in full, without mode and follows.",
            )

    def _check_table(self) -> None:
        if self.table.write_mode != ("append" if self.mode == "incremental" else "overwrite"):
            raise DeclarationError(
                f"{self.name}: computed in mode {self.mode}, but its write mode is {self.table.write_mode}.",
                remedy="full computations overwrite, incremental ones append.",
            )
        if self.table.runtime_date_column is None:
            raise DeclarationError(
                f"{self.name}: no runtime_date_column, which every derived table carries.",
                remedy="declare a DateType column, nullable=False, and name it as runtime_date_column.",
            )
        if self.partitions is not None:
            check_aligned(self.table, self.partitions)

    def _check_arguments(self, compute: Computation) -> None:
        required = {
            name for name, p in inspect.signature(compute).parameters.items() if p.default is inspect.Parameter.empty
        }
        provided = {*self.inputs, *RUN_ARGUMENTS}
        if missing := sorted(set(self.inputs) - inspect.signature(compute).parameters.keys()):
            raise DeclarationError(
                f"{self.name}: the function has no argument {', '.join(missing)}.", remedy="name them as the inputs."
            )
        if unknown := sorted(required - provided):
            raise DeclarationError(
                f"{self.name}: nobody gives the function its argument {', '.join(unknown)}.",
                remedy="declare it as an input, or give it a default.",
            )


def derived(
    *,
    table: Table,
    inputs: Mapping[str, str],
    mode: DeriveMode = "full",
    follows: str | None = None,
    partitions: Partitions | None = None,
) -> Callable[[Computation], Derived]:
    """Declare the function below as the computation of a table; see `Derived` for the arguments."""

    def declare(compute: Computation) -> Derived:
        return Derived(table=table, inputs=inputs, compute=compute, mode=mode, follows=follows, partitions=partitions)

    return declare
