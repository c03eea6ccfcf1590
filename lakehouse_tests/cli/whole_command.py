"""The command with all of its verbs, for whoever looks at their options without asking for one."""

from typing import Any

import typer

from lakehouse.cli.lazy_verb import LazyVerb
from lakehouse.cli.main import app


def whole_command() -> Any:
    """The group, each verb imported."""
    group: Any = typer.main.get_command(app)
    group.commands = {name: verb.whole if isinstance(verb, LazyVerb) else verb for name, verb in group.commands.items()}
    return group
