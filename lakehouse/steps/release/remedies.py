"""What to do about a member that keeps a release from going ahead, by who writes it.

Only a derived table is computed anew by a command. What a stream lands is read again after it was set back, a mirror is
folded anew, and what an asset writes by itself is materialized.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Writer = Literal["derived", "incremental", "stream", "mirror", "asset"]


@dataclass(frozen=True)
class Remedies:
    """The remedies of a lake.

    Args:
        writers: table → who writes it, and under which name a command knows it; `derived` where it is not named.
        members: of the release. Its derived ones are computed together: one alone, a day later, agrees with none.
    """

    writers: Mapping[str, tuple[Writer, str]] = field(default_factory=dict[str, tuple[Writer, str]])
    members: tuple[str, ...] = ()

    def first(self, *names: str) -> str:
        """How tables that hold nothing come by their rows; derived ones with all that they have to agree with."""
        written = [name for name in names if self._writer(name)[0] == "asset"]
        return self._each(written, stream="", mirror="") if written else "`lakehouse run`"

    def anew(self, *names: str, upstream: bool = False, rebuild: bool = False) -> str:
        """How tables are made anew, derived ones all in one run.

        Args:
            names: of the tables.
            upstream: with the derived tables that they come from.
            rebuild: incremental ones from all rows, also where none is among them by name.
        """
        stream = "what `lakehouse audit {name}` names"
        return self._each(
            names, stream=stream, mirror="`lakehouse rebuild {name} --yes`", upstream=upstream, rebuild=rebuild
        )

    def without(self, name: str) -> str:
        """How a table is rid of commits that nobody sealed: of a derived table every row is replaced."""
        writer, known_as = self._writer(name)
        back = f"`lakehouse rollback {known_as} --yes`"
        if writer == "stream":
            return f"{back} takes it back; `lakehouse adopt {known_as} --from rows --yes` takes the rows over"
        return f"{back} takes it back, {self.anew(name)} replaces it"

    def _each(
        self, names: Sequence[str], *, stream: str, mirror: str, upstream: bool = False, rebuild: bool = False
    ) -> str:
        by_writer: dict[Writer, list[str]] = {}
        for name in dict.fromkeys(names):
            writer, known_as = self._writer(name)
            by_writer.setdefault(writer, []).append(known_as)
        return " and ".join(self._commands(by_writer, stream, mirror, upstream=upstream, rebuild=rebuild))

    def _commands(
        self, by_writer: Mapping[Writer, Sequence[str]], stream: str, mirror: str, *, upstream: bool, rebuild: bool
    ) -> Iterator[str]:
        forms: dict[Writer, str] = {"stream": stream, "mirror": mirror, "asset": "Materialize {name} in Dagster's UI"}
        for writer, form in forms.items():
            yield from dict.fromkeys(form.format(name=name) for name in by_writer.get(writer, ()))
        # Rows of an incremental table that are there already stay, unless it is computed from all rows.
        rebuild = rebuild or "incremental" in by_writer
        if computed := [*by_writer.get("derived", ()), *by_writer.get("incremental", ())]:
            others = [name for name in self.members if self._writer(name)[0] in ("derived", "incremental")]
            computed, upstream = list(dict.fromkeys([*computed, *others])), upstream or bool(others)
            options = f"{' --upstream' if upstream else ''} --downstream{' --rebuild' if rebuild else ''}"
            yield f"`lakehouse derive {' '.join(computed)}{options}`"

    def _writer(self, name: str) -> tuple[Writer, str]:
        return self.writers.get(name, ("derived", name))
