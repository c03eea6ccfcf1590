"""The inputs of a step as it found them: at which snapshot, for which date, with which parameters, from which run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyiceberg.table import Table

from lakehouse import seal_keys
from lakehouse.declarations import Declarations, Derived, Mirror, Stream
from lakehouse.iceberg.names import identifier_of, is_elsewhere
from lakehouse.proofs.lineage.computations import Computation, computations_of
from lakehouse.proofs.lineage.sealed import DERIVE, made
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.seals.covered import unsealed_commits
from lakehouse.protocol.seals.read_group import Pinned, read_group
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.derived.inputs.component import component_of, external_inputs
from lakehouse.steps.derived.inputs.pins import Pin, pin_inputs
from lakehouse.steps.derived.refusals import InputMissing, InputWrittenTo


@dataclass(frozen=True)
class Input:
    """One input, held at a snapshot.

    Args:
        argument: what the function calls it.
        name: `namespace.table`, of another catalog `catalog:namespace.table`.
        table: as it was loaded.
        snapshot_id: what is read of it.
        dated: whether it declares a runtime date column; streams, changelogs and mirrors do not. Of another catalog's
            its seal says so: that of a derived table has a date.
        external: whether no derivation writes it.
        seal: the newest statement about its rows at that snapshot; None where nobody sealed it.
    """

    argument: str
    name: str
    table: Table
    snapshot_id: int
    dated: bool
    external: bool
    seal: Seal | None

    @property
    def date(self) -> str:
        """The runtime date that its newest run computed it for; empty where it is dateless."""
        return self.parts[-1].runtime_date if self.parts else ""

    @property
    def parameters_digest(self) -> str:
        """Of the parameters that its newest run computed it with; empty where it is dateless."""
        return self.parts[-1].parameters if self.parts else ""

    @property
    def parts(self) -> tuple[Computation, ...]:
        """What of it was computed for which date and with which parameters; none where it is dateless."""
        return computations_of(self.seal) if self.dated else ()

    @property
    def backfill(self) -> str:
        """Why its own inputs differed, where they did; empty where they agreed."""
        return self.seal.statement.get(seal_keys.DERIVED_DIFFERS, "") if self.seal else ""

    @property
    def run_id(self) -> str:
        """The run that wrote it last."""
        return self.seal.run_id if self.seal else ""


def read_inputs(catalog: LakeCatalog, derived: Derived, declarations: Declarations, pin: Pin) -> dict[str, Input]:
    """Find every input of a derived table: external ones where the run has pinned them, derived ones as they are now.

    Returns:
        Argument → input.

    Raises:
        InputMissing: one does not exist, or was never written.
        SealBroken: a seal was changed after it was written.
    """
    derived_tables = declarations.derived
    pinned = pin_inputs(catalog, external_inputs(component_of(derived.name, derived_tables), derived_tables), pin)
    inner = [name for name in derived.inputs.values() if name in derived_tables]
    missing = [name for name in derived.inputs.values() if not catalog.table_exists(identifier_of(name))]
    if inner and not missing:
        pinned |= read_group(catalog, inner)
    empty = [
        n for n in derived.inputs.values() if n not in missing and (n not in pinned or pinned[n].snapshot_id is None)
    ]
    if missing or empty:
        raise InputMissing(derived.name, missing, empty)
    return {argument: _input(argument, name, pinned, declarations) for argument, name in derived.inputs.items()}


def require_sealed(table: str, inputs: Iterable[Input], declarations: Declarations) -> None:
    """Refuse to compute from what came from outside the protocol.

    A table that nobody has ever sealed, and that nothing declared here writes, is somebody else's: it is read as it is.

    Raises:
        InputWrittenTo: names every such commit of every input, and what to do.
    """
    commits: list[str] = []
    remedies: list[str] = []
    for input_ in inputs:
        writer = declarations.writer(input_.name)
        foreign = unsealed_commits(input_.table, input_.snapshot_id)
        if foreign and (input_.seal is not None or writer is not None):
            commits.append(f"{input_.name}: {', '.join(map(str, foreign))}")
            remedies.append(_remedy(input_.name, writer))
    if commits:
        raise InputWrittenTo(
            f"{table} cannot be computed: its inputs hold what came from outside the protocol ({'; '.join(commits)}).",
            remedy=f"roll {'them' if len(commits) > 1 else 'it'} back; or {'; '.join(dict.fromkeys(remedies))}; "
            "then start a new run.",
        )


def _remedy(name: str, writer: object) -> str:
    match writer:
        case Stream():
            return f"take the rows of {name} over as they are, by `lakehouse adopt {writer.name}`"
        case Mirror():
            return f"build {name} anew, by `lakehouse rebuild {writer.name}`"
        case Derived():
            rebuild = " --rebuild" if writer.mode == "incremental" else ""
            return f"compute {name} anew, by `lakehouse derive {name}{rebuild}`"
        case _ if is_elsewhere(name):
            return f"have {name} mended in the lakehouse that writes it"
        case _:
            return f"write {name} anew as a whole"


def _input(argument: str, name: str, pinned: Mapping[str, Pinned], declarations: Declarations) -> Input:
    table, snapshot_id = pinned[name].table, pinned[name].snapshot_id
    assert snapshot_id is not None
    seal = made(table, snapshot_id).seal
    declared = declarations.tables.get(name)
    dated = declared.runtime_date_column is not None if declared else seal is not None and seal.kind == DERIVE
    return Input(
        argument=argument,
        name=name,
        table=table,
        snapshot_id=snapshot_id,
        dated=dated,
        external=name not in declarations.derived,
        seal=seal,
    )
