"""What a derived table was computed from, as the inputs themselves say it, and whether they belong to its run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table

from lakehouse.proofs.lineage.computations import Computation, computations_of
from lakehouse.proofs.lineage.sealed import DERIVE, Derivation, made
from lakehouse.protocol.seals.seal import Seal


@dataclass(frozen=True)
class Given:
    """One input at the snapshot that was read.

    Args:
        runtime_date: that it carries; empty for a dateless one.
        parameters: digest of those of the run that computed it; empty for a dateless one.
        run_id: of the run that wrote it; empty where nobody can say any more.
        contradicts: the date by its own seal, where the reader's seal names another.
        parts: of it that were computed for different dates or with different parameters; none if it is of one.
        used: parameter → digest, of those that it was computed with; None where nobody noted which.
    """

    table: str
    snapshot_id: int
    runtime_date: str = ""
    parameters: str = ""
    run_id: str = ""
    contradicts: str = ""
    parts: tuple[Computation, ...] = ()
    used: Mapping[str, str] | None = None


def inputs_of(load: Callable[[str], Table], seal: Seal) -> tuple[Given, ...]:
    """The inputs that a seal names.

    Raises:
        SealBroken: that of an input was changed after it was written.
    """
    derivation = Derivation.of(seal)
    dates = derivation.dates if derivation else {}
    return tuple(_given(load, name, snapshot_id, dates.get(name, "")) for name, snapshot_id in seal.inputs.items())


def disagreements(seal: Seal, inputs: tuple[Given, ...]) -> tuple[str, ...]:
    """Inputs that carry another date, or were computed with other parameters, than the run that read them.

    Of a partitioned input, each part that does.
    """
    reader = computations_of(seal)[-1]
    messages: list[str] = []
    for given in inputs:
        parts = given.parts or (Computation(given.runtime_date, given.parameters, given.run_id, used=given.used),)
        for computation in parts:
            part = computation.among(parts)
            subject = f"{given.table} ({part})" if part else given.table
            by = _by(computation.run_id, given.snapshot_id)
            if given.parts and not computation.known:
                messages.append(f"{subject} is of {computation.whose}{by}")
            if computation.runtime_date and computation.runtime_date != seal.runtime_date:
                messages.append(f"{subject} is of {computation.runtime_date}{by}")
            if computation.parameters and not computation.agrees_with(reader):
                messages.append(f"{subject} was computed with other parameters ({computation.parameters}){by}")
        if given.contradicts:
            by = _by(given.run_id, given.snapshot_id)
            messages.append(f"{given.table} says of itself that it is of {given.contradicts}{by}")
    return tuple(messages)


def _given(load: Callable[[str], Table], name: str, snapshot_id: int, stated_date: str) -> Given:
    try:
        seal = made(load(name), snapshot_id).seal
    except NoSuchTableError:
        seal = None
    if seal is None:
        return Given(name, snapshot_id, runtime_date=stated_date)
    if not stated_date and seal.kind != DERIVE:
        return Given(name, snapshot_id, run_id=seal.run_id)
    parts = computations_of(seal)
    newest = parts[-1]
    return Given(
        table=name,
        snapshot_id=snapshot_id,
        runtime_date=stated_date or newest.runtime_date,
        parameters=newest.parameters,
        run_id=seal.run_id,
        contradicts=newest.runtime_date if stated_date and newest.runtime_date != stated_date else "",
        parts=parts if len(parts) > 1 else (),
        used=newest.used,
    )


def _by(run_id: str, snapshot_id: int) -> str:
    return f" (run {run_id}, snapshot {snapshot_id})" if run_id else f" (snapshot {snapshot_id})"
