"""The command with all of its verbs, for whoever looks at their options without asking for one."""

from functools import cache
from typing import Any

import typer

from lakehouse.cli.lazy_verb import LazyVerb
from lakehouse.cli.main import app


@cache
def whole_command() -> Any:
    """The group, each verb imported; made once, since whoever looks asks for each line of a page."""
    group: Any = typer.main.get_command(app)
    group.commands = {name: verb.whole if isinstance(verb, LazyVerb) else verb for name, verb in group.commands.items()}
    return group
