"""What a held release tells a person to do is a command that the writer of the table has."""

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from lakehouse.cli import app
from lakehouse.steps.release.remedies import Remedies

REMEDIES = Remedies(
    {
        "mart.load": ("derived", "mart.load"),
        "mart.days": ("incremental", "mart.days"),
        "raw.airports": ("stream", "reference"),
        "raw.airlines": ("stream", "reference"),
        "mirror.flights": ("mirror", "mirror.flights"),
        "own.table": ("asset", "own.table"),
    }
)


@pytest.mark.parametrize(
    ("remedy", "command"),
    [
        (REMEDIES.first("raw.airports"), "`lakehouse run`"),
        (REMEDIES.first("mart.load"), "`lakehouse run`"),
        (REMEDIES.first("own.table"), "Materialize own.table in Dagster's UI"),
        (REMEDIES.anew("mart.load", "mart.days"), "`lakehouse derive mart.load mart.days --downstream --rebuild`"),
        (REMEDIES.anew("mart.load", upstream=True), "`lakehouse derive mart.load --upstream --downstream`"),
        (REMEDIES.anew("raw.airports", "raw.airlines"), "what `lakehouse audit reference` names"),
        (REMEDIES.anew("mirror.flights"), "`lakehouse rebuild mirror.flights --yes`"),
        (REMEDIES.anew("own.table"), "Materialize own.table in Dagster's UI"),
        (
            REMEDIES.without("raw.airports"),
            "`lakehouse rollback reference --yes` takes it back; `lakehouse adopt reference --from rows --yes` takes "
            "the rows over",
        ),
        (
            REMEDIES.without("mart.days"),
            "`lakehouse rollback mart.days --yes` takes it back, `lakehouse derive mart.days --downstream --rebuild` "
            "replaces it",
        ),
    ],
)
def test_each_table_is_repaired_by_what_writes_it(remedy: str, command: str) -> None:
    assert remedy == command


def test_a_derived_table_and_another_are_repaired_each_in_its_way() -> None:
    remedy = REMEDIES.anew("mart.load", "mirror.flights")
    assert remedy == "`lakehouse rebuild mirror.flights --yes` and `lakehouse derive mart.load --downstream`"


def test_the_derived_members_of_a_release_are_computed_together() -> None:
    together = Remedies(REMEDIES.writers, ("mart.days", "mart.load", "own.table"))
    assert together.anew("mart.load") == "`lakehouse derive mart.load mart.days --upstream --downstream`"
    assert together.anew("own.table") == REMEDIES.anew("own.table")


@pytest.mark.parametrize("verb", ["derive", "rebuild", "rollback", "adopt", "audit", "run"])
def test_every_command_is_there(verb: str) -> None:
    assert verb in get_command(app).commands  # type: ignore[attr-defined]
    assert CliRunner().invoke(app, [verb, "--help"]).exit_code == 0
