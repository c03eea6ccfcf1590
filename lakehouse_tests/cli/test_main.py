"""The command itself: its panels, and its version."""

from collections.abc import Iterator
from importlib import metadata
from typing import Any

from typer.testing import CliRunner

from lakehouse.cli.main import app
from lakehouse.cli.verbs import PANELS
from lakehouse_tests.cli.whole_command import whole_command

HELP = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "120"}).output


def test_each_verb_is_in_a_panel_and_says_what_it_does_in_a_sentence() -> None:
    assert [panel for panel in PANELS if f" {panel} ─" not in HELP] == []
    for verb in (verb for verbs in PANELS.values() for verb in verbs):
        assert f"│ {verb.name} " in HELP


REPORTS = {
    *("run", "derive", "release show", "release list", "release rollback", "plan", "apply"),
    *("status", "tables", "log", "catalog env", "audit", "replay", "accept-loss", "adopt", "reprocess", "rebuild"),
    *("maintain", "housekeep", "lease take", "lease list", "lease release", "checkpoint", "retire"),
    *("backup", "restore", "rollback", "forward", "doctor", "verify"),
    *("quarantine show", "quarantine export", "quarantine expire"),
    *("polaris plan", "polaris apply", "polaris check", "polaris policies"),
}

OTHERS = {
    *("dev", "up", "down", "produce", "simulate changes", "jars", "init", "infer", "metrics"),
    *("polaris rotate", "polaris setup"),
}


def test_what_reports_something_can_print_json_and_only_what_starts_or_sends_or_has_a_format_cannot() -> None:
    command = whole_command()
    options = {
        " ".join(path): {word for option in verb.params for word in option.opts} for path, verb in _verbs(command)
    }
    reporting = {name for name, words in options.items() if "--json" in words}
    assert reporting == REPORTS, "name it in REPORTS of lakehouse_tests/cli/test_main.py"
    assert options.keys() - REPORTS == OTHERS, "give it --json, or name it in OTHERS above"


def _verbs(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    below = getattr(command, "commands", None)  # of a group
    if below is None:
        yield path, command
        return
    for name, verb in below.items():
        yield from _verbs(verb, (*path, name))


def test_its_version_is_that_of_the_distribution() -> None:
    shown = CliRunner().invoke(app, ["--version"])
    assert (shown.exit_code, shown.output) == (0, f"lakehouse {metadata.version('sealed-lakehouse')}\n")
