"""`docs/reference/commands.md`: every command with its arguments and options, as the command itself has them."""

from collections.abc import Iterator, Mapping
from typing import Any

import typer

from lakehouse.cli.main import app
from lakehouse_tests.reference.lines import head, item, sentence, wrapped


def page() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    root: Any = typer.main.get_command(app)
    yield from head("Commands", "What `lakehouse --help` says, and the help of each command.")
    yield from ("", *wrapped(root.help), "", "Before the command:", "")
    yield from _options(root)
    panels: dict[str, list[Any]] = {}
    for command in root.commands.values():
        panels.setdefault(command.rich_help_panel, []).append(command)
    for panel, commands in panels.items():
        yield from ("", f"## {panel}")
        for command in commands:
            yield from _command(f"lakehouse {command.name}", command)


def _command(name: str, command: Any) -> Iterator[str]:
    yield from ("", f"### `{name}`", "")
    for number, paragraph in enumerate((command.help or "").split("\n\n")):
        yield from ([""] if number else [])
        yield from wrapped(paragraph)
    listed = list(_options(command))
    yield from (["", *listed] if listed else [])
    below: Mapping[str, Any] = getattr(command, "commands", {})
    for word, verb in below.items():
        yield from _command(f"{name} {word}", verb)


def _options(command: Any) -> Iterator[str]:
    for option in command.params:
        if option.name in {"help", "install_completion", "show_completion"}:
            continue
        argument = option.param_type_name == "argument"
        name = option.name.upper() if argument else ", ".join((*option.opts, *option.secondary_opts))
        needed = "To be given. " if option.required else ""
        default = option.default
        said = "" if callable(default) or default in (None, "", False, True, ()) else f" Default: {default}."
        yield from item(name, needed + sentence(option.help or "") + said)
