"""`lakehouse polaris rotate`: nothing without --yes, and no secret on a screen."""

from pathlib import Path

from lakehouse_tests.cli.commands.environment.polaris.conftest import Polaris
from lakehouse_tests.polaris.played_server import PlayedPolaris, secrets_of


def test_new_credentials_go_to_the_file_alone(polaris: Polaris, played: PlayedPolaris, tmp_path: Path) -> None:
    file = tmp_path / "secrets"
    polaris("apply", "--yes", "--secrets", str(file))
    before = file.read_text()
    words = ("rotate", "lake-ingest", "--secrets", str(file))
    shown = polaris(*words)
    assert shown.stdout.splitlines() == [
        "lake-ingest: a new credential; the one before goes on until the next rotation.",
        "Nothing was done. To do this, say the same with --yes.",
    ]
    assert file.read_text() == before
    done = polaris(*words, "--yes")
    assert (done.exit_code, done.stdout) == (0, f"lake-ingest: the new credential is in {file}.\n")
    assert file.read_text() != before
    assert len(played.secrets["lake-ingest"][1]) == 2
    reset = polaris(*words, "--yes", "--reset")
    assert reset.exit_code == 0
    assert len(played.secrets["lake-ingest"][1]) == 1
    assert not [secret for secret in secrets_of(played) if secret in done.output + reset.output]


def test_what_is_not_declared_is_refused(polaris: Polaris, tmp_path: Path) -> None:
    refused = polaris("rotate", "root", "--secrets", str(tmp_path / "secrets"), "--yes", "--reset")
    assert refused.exit_code == 2
    assert "There is no principal root in the file." in refused.stderr
    assert not (tmp_path / "secrets").exists()
