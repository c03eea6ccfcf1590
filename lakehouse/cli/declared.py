"""The declarations beside the catalog, as `plan`, `apply` and `tables` need them."""

from dataclasses import dataclass

from lakehouse.cli.context import Context
from lakehouse.declarations import Declarations, TablePlan, WouldLoseData, load_declarations, plan
from lakehouse.protocol.catalog import LakeCatalog, open_catalog


@dataclass(frozen=True)
class Plans:
    """What would have to happen.

    Attributes:
        plans: of the tables that can become what is declared, whether or not there is something to do.
        refused: of those that cannot.
    """

    plans: list[TablePlan]
    refused: list[WouldLoseData]

    @property
    def to_do(self) -> list[TablePlan]:
        """The plans that change something."""
        return [planned for planned in self.plans if planned]


def declarations_of(context: Context) -> Declarations:
    """Load what the settings say is declared."""
    return load_declarations(context.settings.declarations, demo=context.settings.demo)


def catalog_of(context: Context) -> LakeCatalog:
    """Open the catalog; a laptop's state folder is made if it is the first to ask."""
    context.settings.state.root.mkdir(parents=True, exist_ok=True)
    return open_catalog(context.settings.catalog)


def plans_of(declarations: Declarations, catalog: LakeCatalog) -> Plans:
    """Compare every declared table with the catalog."""
    plans = Plans([], [])
    for table in declarations.tables.values():
        try:
            plans.plans.append(plan(table, catalog))
        except WouldLoseData as refused:
            plans.refused.append(refused)
    return plans
