"""What a derived table was computed from, as the inputs themselves say it, and whether they belong to its run."""

from collections.abc import Callable
from dataclasses import dataclass

from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table

from lakehouse.commit import Seal
from lakehouse.lineage.sealed import DERIVE, Derivation, made


@dataclass(frozen=True)
class Given:
    """One input at the snapshot that was read.

    Args:
        runtime_date: that it carries; empty for a dateless one.
        parameters: digest of those that it was computed with; empty for a dateless one.
        run_id: of the run that wrote it; empty where nobody can say any more.
        contradicts: the date by its own seal, where the reader's seal names another.
    """

    table: str
    snapshot_id: int
    runtime_date: str = ""
    parameters: str = ""
    run_id: str = ""
    contradicts: str = ""


def inputs_of(load: Callable[[str], Table], seal: Seal) -> tuple[Given, ...]:
    """The inputs that a seal names.

    Raises:
        SealBroken: that of an input was changed after it was written.
    """
    said = Derivation.of(seal)
    dates = said.dates if said else {}
    return tuple(_given(load, name, snapshot_id, dates.get(name, "")) for name, snapshot_id in seal.inputs.items())


def disagreements(seal: Seal, inputs: tuple[Given, ...]) -> tuple[str, ...]:
    """Inputs that carry another date, or were computed with other parameters, than the run that read them."""
    found: list[str] = []
    for given in inputs:
        if given.runtime_date and given.runtime_date != seal.runtime_date:
            found.append(f"{given.table} is of {given.runtime_date}{_by(given)}")
        if given.parameters and given.parameters != seal.parameters_digest:
            found.append(f"{given.table} was computed with other parameters ({given.parameters}){_by(given)}")
        if given.contradicts:
            found.append(f"{given.table} says of itself that it is of {given.contradicts}{_by(given)}")
    return tuple(found)


def _given(load: Callable[[str], Table], name: str, snapshot_id: int, said: str) -> Given:
    try:
        seal = made(load(name), snapshot_id).seal
    except NoSuchTableError:
        seal = None
    if seal is None:
        return Given(name, snapshot_id, runtime_date=said)
    dated = bool(said) or seal.kind == DERIVE
    return Given(
        table=name,
        snapshot_id=snapshot_id,
        runtime_date=said or (seal.runtime_date if dated else ""),
        parameters=seal.parameters_digest if dated else "",
        run_id=seal.run_id,
        contradicts=seal.runtime_date if said and seal.runtime_date != said else "",
    )


def _by(given: Given) -> str:
    return (
        f" (run {given.run_id}, snapshot {given.snapshot_id})" if given.run_id else f" (snapshot {given.snapshot_id})"
    )
