"""The declarations beside the catalog, as `plan`, `apply` and `tables` need them."""

from collections.abc import Iterable
from dataclasses import dataclass

from lakehouse.cli.context import Context, catalog_of
from lakehouse.declarations import Declarations, TablePlan, ToNamed, WouldLoseData, load_sound, plan
from lakehouse.errors import LakehouseError
from lakehouse.protocol.catalog import LakeCatalog
from lakehouse.steps.ingest.routes.made_tables import with_made_tables


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


class UnknownName(LakehouseError):
    """Nothing of this kind and name is declared."""


class RemovalWaits(LakehouseError):
    """A declaration does not load, and what it declares may need what would be removed."""


def declarations_of(context: Context) -> Declarations:
    """Load what the settings say is declared, and what streams have made because records name it.

    What does not load is told, each in a line, and left out.
    """
    settings = context.settings
    declarations = load_sound(settings.declarations, demo=settings.demo, catalogs=settings.other_catalogs)
    for broken in declarations.broken:
        names = sorted({*broken.tables, *(name for name, why in declarations.stopped.items() if broken.message in why)})
        stopped = f" It stops {', '.join(names)}." if names else ""
        context.warn_once(f"DOES NOT LOAD: {broken}{stopped}")
    if any(isinstance(stream.route, ToNamed) for stream in declarations.streams.values()):
        return with_made_tables(declarations, catalog_of(context))
    return declarations


def all_declarations(context: Context) -> Declarations:
    """The same for a verb that is about everything: where something does not load, it ends with 2 at best."""
    declarations = declarations_of(context)
    context.incomplete |= bool(declarations.broken)
    return declarations


def whole_declarations(context: Context) -> Declarations:
    """The same for a verb that removes something, or takes it back.

    Raises:
        RemovalWaits: something does not load.
    """
    declarations = declarations_of(context)
    if declarations.broken:
        raise RemovalWaits(
            "Nothing is removed or taken back while a declaration does not load: who needs what would go is not known.",
            remedy="correct what is named above, and say it again",
        )
    return declarations


def require_declared(declarations: Declarations, kind: str, names: Iterable[str], declared: Iterable[str]) -> None:
    """Refuse names that nothing has.

    Args:
        declarations: where the names are looked for.
        kind: of what is named, in the singular.
        names: as a person has typed them.
        declared: the names that there are.

    Raises:
        UnknownName: nobody declared one of them, or what declares it does not load.
    """
    known = set(declared)
    if unknown := [name for name in names if name not in known]:
        first = "correct what does not load, or " if declarations.broken else ""
        raise UnknownName(
            f"There is no {kind} {', '.join(unknown)}.",
            remedy=first + (f"name one of {', '.join(sorted(known))}" if known else "declare it"),
        )


def plans_of(declarations: Declarations, catalog: LakeCatalog) -> Plans:
    """Compare every declared table with the catalog."""
    plans = Plans([], [])
    for table in declarations.tables.values():
        try:
            plans.plans.append(plan(table, catalog))
        except WouldLoseData as refused:
            plans.refused.append(refused)
    return plans
