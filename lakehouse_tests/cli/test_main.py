"""The command itself: its panels, and its version."""

from importlib import metadata

from typer.testing import CliRunner

from lakehouse.cli.main import PANELS, app

HELP = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "120"}).output


def test_each_verb_is_in_a_panel_and_says_what_it_does_in_a_sentence() -> None:
    assert [panel for panel in PANELS if f" {panel} ─" not in HELP] == []
    for verb in (verb for verbs in PANELS.values() for verb in verbs):
        name = getattr(verb, "__name__", "").replace("_", "-") or verb.info.name
        assert f"│ {name} " in HELP


def test_its_version_is_that_of_the_distribution() -> None:
    shown = CliRunner().invoke(app, ["--version"])
    assert (shown.exit_code, shown.output) == (0, f"lakehouse {metadata.version('lakehouse')}\n")
