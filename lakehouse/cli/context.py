"""What the verbs share: the settings, and where they print."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from lakehouse.cli.console import SafeConsole
from lakehouse.errors import LakehouseError
from lakehouse.settings import Settings, load_settings

if TYPE_CHECKING:
    from lakehouse.protocol.catalog import LakeCatalog

_UNBOUNDED = 10_000

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def print_json(value: object) -> None:
    """Print a result for machines; offsets and partitions that are keys become texts."""
    typer.echo(json.dumps(value, indent=2))


def results() -> Console:
    """Where results go: cut to the width of a terminal, and whole where there is none, as in a file or a pipe."""
    console = SafeConsole()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _UNBOUNDED
    return console


@dataclass
class Context:
    """One call of the command.

    Results go to `out` (they may be piped), progress and messages to `err`.

    Attributes:
        conf: the folder of settings, where one is named.
        verbose: whether a person wants to see every step.
        incomplete: whether what was asked for was done without what does not load, so the command ends with 2.
    """

    conf: Path | None = None
    out: Console = field(default_factory=results)
    err: Console = field(default_factory=lambda: SafeConsole(stderr=True))
    verbose: bool = False
    incomplete: bool = False
    _lines: set[str] = field(default_factory=set[str], init=False)

    @cached_property
    def settings(self) -> Settings:
        """The settings; read when a verb asks, so that `--help` works without any."""
        return load_settings(self.conf)

    def tell(self, text: str, style: str = "") -> None:
        """Print one line of a result, whole at any width."""
        self.out.print(text, style=style, highlight=False, markup=False, soft_wrap=True)

    def tell_once(self, text: str, style: str = "") -> None:
        """The same, unless this very line was told before: several proofs come upon one damaged file."""
        if self._is_new(text):
            self.tell(text, style)

    def warn_once(self, text: str, style: str = "bold red") -> None:
        """Print one line about what is wrong to the messages, unless this very line was told before."""
        if self._is_new(text):
            self.err.print(text, style=style, highlight=False, markup=False, soft_wrap=True)

    def leave_out(self, reason: LakehouseError) -> None:
        """Say what cannot be done of what was asked for; the command does the rest, and ends with 2."""
        self.warn_once(str(reason))
        self.incomplete = True

    def _is_new(self, line: str) -> bool:
        is_new = line not in self._lines
        self._lines.add(line)
        return is_new

    def settings_of_platform(self, platform: str) -> Settings:
        """The settings with another platform selected."""
        return self.settings_with({"LAKEHOUSE_PLATFORM": platform})

    def settings_with(self, variables: Mapping[str, str]) -> Settings:
        """The settings as they are with some variables beside those of the environment."""
        return load_settings(self.conf, {**os.environ, **variables})


def context_of(ctx: typer.Context) -> Context:
    """The context that the command's callback has made."""
    context = ctx.find_object(Context)
    assert context is not None
    return context


def catalog_of(context: Context) -> "LakeCatalog":
    """Open the catalog; a laptop's state folder is made if it is the first to ask."""
    from lakehouse.protocol.catalog import open_catalog  # a verb without a catalog does not import one

    context.settings.state.make()
    if reservation := context.settings.catalog.reservation:
        context.warn_once(reservation, style="yellow")
    return open_catalog(context.settings.catalog, context.settings.other_catalogs)
