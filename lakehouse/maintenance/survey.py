"""Looks at tables: loads each once, asks who holds it, measures it, and decides. Nothing is changed by it.

The sensor, the command and the step itself ask here, so that all three come to the same plan.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime

from pydantic import ValidationError
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table as IcebergTable

from lakehouse.catalog import LakeCatalog
from lakehouse.commit import SealBroken
from lakehouse.errors import LakehouseError
from lakehouse.maintenance.action import Operation, Plan
from lakehouse.maintenance.budget import Allotment, Budget, allot
from lakehouse.maintenance.decide import decide
from lakehouse.maintenance.holders import holders_of
from lakehouse.maintenance.manifest_files import ManifestCache
from lakehouse.maintenance.measure import measure
from lakehouse.maintenance.memory import Memory
from lakehouse.maintenance.patience import patient
from lakehouse.maintenance.record import policy_text
from lakehouse.maintenance.state import State
from lakehouse.tables import Declarations, Table

_LONGEST_REASON = 300


@dataclass(frozen=True)
class Surveyed:
    """One table, as it was found.

    Attributes:
        declared: its declaration.
        state: what was measured.
        plan: what to do about it.
    """

    declared: Table
    state: State
    plan: Plan


@dataclass(frozen=True, kw_only=True)
class Survey:
    """What every look at a table needs.

    Attributes:
        catalog: where the tables live.
        declarations: all of them: who writes and reads each.
        memory: what earlier maintenance has written down.
        budget: what one look may start.
        now: the moment of the measurement.
        only: the operations that are asked for.
        waits: whether what failed lately waits; a person who asks for it does not have to.
        cores: that work at once; those of this machine if None.
        cache: manifests that were read before.
    """

    catalog: LakeCatalog
    declarations: Declarations
    memory: Memory
    budget: Budget
    now: datetime
    only: Collection[Operation] = tuple(Operation)
    waits: bool = True
    cores: int | None = None
    cache: ManifestCache = field(default_factory=ManifestCache)

    def look(self, declared: Table) -> Surveyed | None:
        """Look at one table; None where it does not exist."""
        found = self._loaded(declared)
        if found is None:
            return None
        state = self._unreadable(declared, found) if isinstance(found, str) else self._measured(declared, found)
        known = self.memory.experience(state.uuid, cores=self.cores)
        plan = decide(state, declared.maintenance, self.budget, known, self.only)
        return Surveyed(declared, state, patient(plan, self.memory, state.uuid, self.now) if self.waits else plan)

    def _loaded(self, declared: Table) -> IcebergTable | str | None:
        try:
            return self.catalog.load_table(declared.identifier)
        except NoSuchTableError:
            return None
        except (ValidationError, ValueError) as error:  # a column type or a kind of statistics that it does not know
            return f"PyIceberg cannot load it: {' '.join(str(error).split())[:_LONGEST_REASON]}"

    def _measured(self, declared: Table, table: IcebergTable) -> State:
        uuid = str(table.metadata.table_uuid)
        try:
            return measure(
                table,
                declared,
                self.declarations,
                now=self.now,
                holders=holders_of(self.catalog, self.declarations, table),
                remembered=self.memory.remembered(uuid),
                cache=self.cache,
            )
        except SealBroken as broken:
            # Who has changed a seal may have changed more: nothing is touched until a person has looked.
            return replace(self._unreadable(declared, broken.message), uuid=uuid)

    def _unreadable(self, declared: Table, why: str) -> State:
        at = self.catalog.locations([declared.identifier]).get(declared.identifier, "")
        return State(table=declared.name, measured_at=self.now, unreadable=why, document=document_of(at))

    def stands_until(self, declared: Table, location: str) -> datetime | None:
        """Until when the newest decision holds, which is for the same metadata file and policy; None if it does not.

        Args:
            declared: the table.
            location: of its metadata file now.
        """
        rows = (row for row in self.memory.rows if row["table_name"] == declared.name and row["phase"] == "decided")
        newest = next(rows, None)
        holds = (
            newest is not None
            and newest["metadata_file"] == document_of(location)
            and newest["policy"] == policy_text(declared.maintenance)
            and newest["valid_until"] is not None
            and self.now < newest["valid_until"]
        )
        return newest["valid_until"] if newest is not None and holds else None


def document_of(location: str) -> str:
    """The name of a metadata file."""
    return location.rpartition("/")[2]


@dataclass(frozen=True)
class Surveys:
    """All tables that were looked at, and what is done about them within the budget.

    Attributes:
        surveyed: by name, each with the plan that the budget leaves it.
        allotment: chosen, postponed and idle.
        trouble: table → why nobody could look at it now; the others are none the worse for it.
    """

    surveyed: dict[str, Surveyed]
    allotment: Allotment
    trouble: dict[str, str]


def survey_all(survey: Survey, tables: Iterable[Table]) -> Surveys:
    """Look at tables, and share the budget out between them."""
    found: dict[str, Surveyed] = {}
    trouble: dict[str, str] = {}
    for table in tables:
        try:
            one = survey.look(table)
        except (OSError, LakehouseError) as error:  # a store that does not answer, or a file that is gone
            trouble[table.name] = error.message if isinstance(error, LakehouseError) else type(error).__name__
        else:
            found |= {table.name: one} if one is not None else {}
    allotment = allot([one.plan for one in found.values()], survey.budget)
    plans = {plan.table: plan for plan in allotment.plans}
    return Surveys({name: replace(one, plan=plans[name]) for name, one in found.items()}, allotment, trouble)
