"""A verb that is imported when it is asked for: the list of all needs its name and its sentence, and no more of it."""

import gc
from contextlib import nullcontext
from functools import cached_property
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand
from typing_extensions import override

from lakehouse.cli.verbs import ROOM, Verb
from lakehouse.garbage import uncollected


class LazyVerb(TyperCommand):
    """What `lakehouse --help` shows of a verb; whatever else is asked, the verb itself answers."""

    def __init__(self, verb: Verb, panel: str) -> None:
        super().__init__(name=verb.name, help=verb.help, rich_help_panel=panel)
        self._verb = verb

    @cached_property
    def whole(self) -> Any:
        """The verb itself, with its options, or with the words below it."""
        # Of a process that began as a command, its first imports are frozen: these are to be as well.
        with uncollected() if gc.get_freeze_count() else nullcontext():
            verb: object = getattr(import_module(f"{ROOM}.{self._verb.module}"), self._verb.attribute)
        alone = typer.Typer(pretty_exceptions_enable=False)
        if isinstance(verb, typer.Typer):
            alone.add_typer(verb, rich_help_panel=self.rich_help_panel)
        else:
            assert callable(verb)
            alone.command(rich_help_panel=self.rich_help_panel)(verb)
        return typer.main.get_group(alone).commands[self._verb.name]

    @override
    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Of the verb itself: it reads its arguments, and is what runs."""
        return self.whole.make_context(info_name, args, parent, **extra)
