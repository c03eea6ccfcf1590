"""Records that name their tables: which one a record goes to, which one is to be made first, and what is refused."""

from collections.abc import Iterable, Mapping

from lakehouse.declarations import ToNamed
from lakehouse.formats.decoded import Observed
from lakehouse.formats.verdict import RecordError


class NamedTables:
    """The tables that records may name."""

    def __init__(self, route: ToNamed, others: Iterable[str], unmakeable: Mapping[str, str]) -> None:
        """Takes the route.

        Args:
            route: with its policy, and the tables that there are.
            others: tables that something else writes.
            unmakeable: table → why it cannot be made.
        """
        self.route = route
        self._unmakeable = dict(unmakeable)
        self._known = frozenset(route.tables)
        # Two names that differ in case alone are one for Spark and for some file systems.
        self._folded = {name.casefold() for name in route.tables}
        self._others = {name.casefold() for name in others}
        self._noted = dict[str, str]()

    def tables(self, value: str) -> tuple[str, ...]:
        """The table that a value names, if it is there."""
        name = self.route.named(value)
        return (name,) if name in self._known else ()

    def refusal(self, value: str, chooser: str, observed: Observed) -> RecordError:
        """Why its record does not go there; of a table that may be made that is for the driver to do first."""
        name = self.route.named(value)
        if reason := self._reason(name):
            return RecordError("route_refused", f"{chooser} {reason}")
        observed.unmade[name] += 1
        return RecordError("route_refused", f"{chooser} names a table that is not made yet")

    def _reason(self, name: str) -> str:
        folded = name.casefold()
        if reason := self.route.refusal(name):
            return reason
        if folded in self._others:
            return "names a table that something else writes"
        if folded in self._folded or self._noted.get(folded, name) != name:
            return "names a table as another one is called, but for the case"
        if name in self._unmakeable:
            return f"names a table that cannot be made: {self._unmakeable[name]}"
        if folded not in self._noted and len(self._noted) >= self.route.room:
            return f"names one table more than {self.route.most_tables}"
        self._noted[folded] = name
        return ""
