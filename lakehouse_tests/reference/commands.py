"""`docs/reference/commands.md`: every command with its arguments and options, as the command itself has them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from lakehouse_tests.cli.exit_codes import EXIT_CODES, Trouble
from lakehouse_tests.cli.whole_command import whole_command
from lakehouse_tests.reference.lines import head, item, sentence, wrapped

_CODES = {
    "0": "done, and good",
    "1": "a promise is broken: `audit`, `replay`, `run`, `derive`; `plan --exit-code` has something to do",
    "2": "could not run, or not do all of it; nothing half-written is visible",
    "130": "interrupted (Ctrl-C); run it again, and it goes on from there",
    "141": "whoever read the output has gone, as after `head -1`",
}


def page() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    root: Any = whole_command()
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
    yield from _exit_codes()


def _exit_codes() -> Iterator[str]:
    yield from ("", "## Exit codes", "", *_table(("code", "means"), _CODES.items()), "")
    yield from wrapped(
        "Where a command could not run, one line of the messages says what is the matter, and the remedy. Results "
        "are printed apart from messages. A traceback is an error in the program. With `--verbose` one is shown "
        "also where the system refuses a file."
    )
    yield from ("", "What a command ends with, and the line:", "")
    for trouble in Trouble:
        yield from wrapped(f"**{trouble.title}** `{trouble.example}`", "- ", "  ")
    yield ""
    yield from wrapped(
        "An empty cell: the command does not come upon it, or makes what is missing. `status` and `tables` show the "
        "rest; a broker of our own that is stopped is no trouble to them. What is about everything does the rest "
        "where a declaration does not load."
    )
    rows = [
        (f"`{verb}`", *("" if (code := row.code(trouble)) is None else str(code) for trouble in Trouble))
        for verb, row in EXIT_CODES.items()
    ]
    yield from ("", *_table(("command", *(trouble.title for trouble in Trouble)), rows))


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    for row in rows:
        yield f"| {' | '.join(row)} |"


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
        default_text = "" if callable(default) or default in (None, "", False, True, ()) else f" Default: {default}."
        yield from item(name, needed + sentence(option.help or "") + default_text)
