"""Looks at tables: loads each once, asks who holds it, measures it, and decides. Nothing is changed by it.

The sensor, the command and the step itself ask here, so that all three come to the same plan.
"""

import math
import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from pydantic import ValidationError
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.table import Table as IcebergTable

from lakehouse.declarations import Declarations, Table
from lakehouse.errors import LakehouseError
from lakehouse.iceberg.manifests.manifest_files import ManifestCache
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.protocol.errors import SealBroken
from lakehouse.steps.maintenance.expire.holds import holders_of
from lakehouse.steps.maintenance.log.backoff import patient
from lakehouse.steps.maintenance.log.history import History
from lakehouse.steps.maintenance.log.record import policy_text
from lakehouse.steps.maintenance.measure.measure import measure
from lakehouse.steps.maintenance.measure.stream_refusal import stream_refusal
from lakehouse.steps.maintenance.model.action import MaintenancePlan, Operation
from lakehouse.steps.maintenance.model.partitions import EPOCH
from lakehouse.steps.maintenance.model.state import MeasuredState
from lakehouse.steps.maintenance.plan.budget import Allotment, Budget, allot
from lakehouse.steps.maintenance.plan.decide import decide

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
    state: MeasuredState
    plan: MaintenancePlan


@dataclass(frozen=True, kw_only=True)
class TableSurvey:
    """What every look at a table needs.

    Attributes:
        catalog: where the tables live.
        declarations: all of them: who writes and reads each.
        memory: what earlier maintenance has written down.
        budget: what one look may start.
        now: the moment of the measurement.
        only: the operations that are asked for.
        waits: whether what failed lately waits; a person who asks for it does not have to.
        cores: that write at once; those of this machine if None.
        cache: manifests that were read before.
    """

    catalog: LakeCatalog
    declarations: Declarations
    memory: History
    budget: Budget
    now: datetime
    only: Collection[Operation] = tuple(Operation)
    waits: bool = True
    cores: int | None = None
    cache: ManifestCache = field(default_factory=ManifestCache)

    def look(self, declared: Table) -> Surveyed | None:
        """Look at one table; None where it does not exist."""
        loaded = self._loaded(declared)
        if loaded is None:
            return None
        state = self._unreadable(declared, loaded) if isinstance(loaded, str) else self._measured(declared, loaded)
        cores = self.cores or os.cpu_count() or 1
        plan = decide(state, declared.maintenance, self.budget, self.only, cores=cores)
        return Surveyed(declared, state, patient(plan, self.memory, state.uuid, self.now) if self.waits else plan)

    def _loaded(self, declared: Table) -> IcebergTable | str | None:
        try:
            return self.catalog.load_table(declared.identifier)
        except NoSuchTableError:
            return None
        except (ValidationError, ValueError) as error:  # a column type or a kind of statistics that it does not know
            return f"PyIceberg cannot load it: {' '.join(str(error).split())[:_LONGEST_REASON]}"

    def _measured(self, declared: Table, table: IcebergTable) -> MeasuredState:
        uuid = str(table.metadata.table_uuid)
        try:
            state = measure(
                table,
                declared,
                self.declarations,
                now=self.now,
                holders=holders_of(self.catalog, self.declarations, table, now=self.now),
                remembered=self.memory.remembered(uuid),
                cache=self.cache,
            )
            refuses = stream_refusal(self.catalog, self.declarations, declared.name)
            return replace(state, traits=replace(state.traits, stream_refuses=refuses)) if refuses else state
        except SealBroken as broken:
            # Who has changed a seal may have changed more: nothing is touched until a person has looked.
            return replace(self._unreadable(declared, broken.message), uuid=uuid)

    def _unreadable(self, declared: Table, why: str) -> MeasuredState:
        location = self.catalog.locations([declared.identifier]).known.get(declared.identifier, "")
        return MeasuredState(table=declared.name, measured_at=self.now, unreadable=why, document=document_of(location))

    def stands_until(self, declared: Table, location: str) -> datetime | None:
        """Until when the newest decision holds, which is for the same metadata file and policy; None if it does not.

        Args:
            declared: the table.
            location: of its metadata file now.
        """
        newest = self.memory.decision(declared.name)
        holds = (
            newest is not None
            and newest.metadata_file == document_of(location)
            and newest.policy == policy_text(declared.maintenance)
            and newest.valid_until is not None
            and self.now < newest.valid_until
        )
        return newest.valid_until if newest is not None and holds else None


def document_of(location: str) -> str:
    """The name of a metadata file."""
    return location.rpartition("/")[2]


@dataclass(frozen=True)
class Surveys:
    """All tables that were looked at.

    Attributes:
        surveyed: by name.
        trouble: table → why nobody could look at it now; the others are none the worse for it.
        left: tables that there was no time for.
    """

    surveyed: Mapping[str, Surveyed]
    trouble: Mapping[str, str]
    left: tuple[str, ...] = ()

    def without(self, tables: Collection[str]) -> "Surveys":
        """The same but for some tables."""
        return replace(
            self, surveyed={name: surveyed for name, surveyed in self.surveyed.items() if name not in tables}
        )

    def rationed(self, survey: TableSurvey) -> tuple["Surveys", Allotment]:
        """The same with the plans that the budget for all of them together leaves each."""
        attended = {name: _attended(entry, survey.memory) for name, entry in self.surveyed.items()}
        allotment = allot([entry.plan for entry in self.surveyed.values()], survey.budget, attended)
        plans = {plan.table: plan for plan in allotment.plans}
        surveyed = {name: replace(entry, plan=plans[name]) for name, entry in self.surveyed.items()}
        return replace(self, surveyed=surveyed), allotment


def _attended(surveyed: Surveyed, memory: History) -> datetime:
    """When something that a table needs now was last done for it, or tried."""
    rows = (memory.last(surveyed.state.uuid, action.operation) for action in surveyed.plan.actions)
    return max((row.timestamp for row in rows if row is not None), default=EPOCH)


def survey_all(
    survey: TableSurvey,
    tables: Sequence[Table],
    *,
    seconds: float = math.inf,
    begin: Callable[[str], object] | None = None,
) -> Surveys:
    """Look at tables, one after the other, as long as there is time.

    Args:
        survey: what every look needs.
        tables: to look at, in this order.
        seconds: after so many no other table is begun; the first is looked at in any case.
        begin: told the name of each table, before it is looked at.
    """
    began, surveyed, trouble = time.monotonic(), dict[str, Surveyed](), dict[str, str]()
    for index, table in enumerate(tables):
        if index and time.monotonic() - began > seconds:
            return Surveys(surveyed, trouble, tuple(other.name for other in tables[index:]))
        if begin is not None:
            begin(table.name)
        try:
            looked = survey.look(table)
        except LakehouseError as error:
            trouble[table.name] = error.message
        except Exception as error:  # noqa: BLE001 - a store that is silent, a broken file: no other table's business
            # What a library says may repeat values; its class does not.
            trouble[table.name] = type(error).__name__
        else:
            surveyed |= {table.name: looked} if looked is not None else {}
    return Surveys(surveyed, trouble)
