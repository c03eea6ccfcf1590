"""For which date and with which parameters each part of a table was computed, and by which run.

The seal's own date and parameters are those of the newest run. What earlier runs of a partitioned table have computed,
and what is still there, is beside them. The rows of an incremental table keep the dates of their runs, but the table is
of the date of its newest one: by then, that run has added all that there was to add.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from lakehouse import seal_keys
from lakehouse.proofs.lineage.origins import REST, part_in_words
from lakehouse.protocol.seals.seal import Seal


@dataclass(frozen=True)
class Computation:
    """A part of a table, and how it was computed.

    Args:
        runtime_date: that it was computed for.
        parameters: digest of all parameters of the run.
        run_id: the newest run that has computed some of it so. All three are empty for parts that the seal
            no longer tells apart: of so many dates or parameters, or of partitions that were declared otherwise.
        partitions: keys, and neighbouring days or months as `first..last`; `*` for all that are named nowhere else.
        used: parameter → digest of its value, of those that it was computed with, by itself or by its inputs; None
            where nobody noted which: then it is of all parameters of the run.
    """

    runtime_date: str = ""
    parameters: str = ""
    run_id: str = ""
    partitions: tuple[str, ...] = (REST,)
    used: Mapping[str, str] | None = None

    @property
    def known(self) -> bool:
        """Whether its date and parameters are known."""
        return bool(self.run_id)

    @property
    def whose(self) -> str:
        """For a person: date, parameters and run."""
        if not self.known:
            return "dates or parameters that can no longer be told apart (a run of the whole table mends that)"
        return f"runtime date {self.runtime_date or 'not known'}, parameters {self.parameters}, run {self.run_id}"

    def agrees_with(self, other: "Computation") -> bool:
        """Whether every parameter that both have used was the same; all of the runs, where nobody noted which."""
        if self.used is None or other.used is None:
            return self.parameters == other.parameters
        return all(digest == other.used.get(name, digest) for name, digest in self.used.items())

    def is_of(self, run: "Computation") -> bool:
        """Whether each parameter that it has used has its value in a run, which names all that it has."""
        if self.used is None or run.used is None:
            return self.parameters == run.parameters
        return all(run.used.get(name) == digest for name, digest in self.used.items())

    def among(self, every: Sequence["Computation"]) -> str:
        """Which part of the table that is, in words; empty for all of it."""
        return part_in_words(self.partitions, [computation.partitions for computation in every])


def computations_of(seal: Seal | None) -> tuple[Computation, ...]:
    """How what a table holds was computed, by its newest seal: what the newest run has computed comes last."""
    if seal is None:
        return ()
    computation = Computation(seal.runtime_date, seal.parameters_digest, seal.run_id)
    return computations_in(seal.statement) or (computation,)


def computations_in(statement: Mapping[str, str]) -> tuple[Computation, ...]:
    """The computations that a statement lists."""
    return msgspec.json.decode(statement.get(seal_keys.DERIVED_COMPUTED_BY, "[]"), type=tuple[Computation, ...])
