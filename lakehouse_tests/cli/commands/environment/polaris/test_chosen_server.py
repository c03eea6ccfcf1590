"""Which file is meant: the one that is named, the one of the settings, or the only one."""

from pathlib import Path

from lakehouse_tests.cli.commands.environment.polaris.conftest import Polaris


def test_which_server_is_meant(polaris: Polaris, tmp_path: Path) -> None:
    folder = tmp_path / "conf" / "polaris"
    assert polaris("setup").exit_code == 0
    (folder / "other.yaml").write_text("uri: https://other.example\ncredential: ${env:X}\n")
    several = polaris("setup")
    assert several.exit_code == 2
    assert "Remedy: name one of example, other" in several.stderr
    assert polaris("setup", "other").stdout.startswith("principals: {}\n")
    (tmp_path / "conf" / "lakehouse.yaml").write_text(
        f"{(tmp_path / 'conf' / 'lakehouse.yaml').read_text()}polaris: other\n"
    )
    assert polaris("setup").stdout.startswith("principals: {}\n")
