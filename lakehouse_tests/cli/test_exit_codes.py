"""Every verb in every kind of trouble: it ends with the code of the table, and with one line that names the remedy."""

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from lakehouse.cli.main import app
from lakehouse.engines.kafka.connection import Connection
from lakehouse_tests.cli.exit_codes import EXIT_CODES, Trouble, verbs

CONF = Path(__file__).resolve().parents[2] / "conf"
CASES = [(verb, trouble) for verb, row in EXIT_CODES.items() for trouble in Trouble if row.code(trouble) is not None]
DOING = {
    *("release rollback", "accept-loss", "adopt", "reprocess", "rebuild", "rollback", "forward", "maintain"),
    *("housekeep", "lease release", "retire", "verify", "quarantine export", "quarantine expire"),
    *("polaris apply", "polaris rotate"),
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A state folder whose catalog has all declared tables, empty; no case writes to it."""
    home = tmp_path_factory.mktemp("lake")
    applied = CliRunner(env={"LAKEHOUSE_HOME": str(home)}).invoke(app, ["--conf", str(CONF), "apply"])
    assert applied.exit_code == 0, applied.output
    return home


@pytest.fixture
def call(tmp_path: Path, lake: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Result]]:
    """Call a verb in a trouble."""

    def call(verb: str, trouble: Trouble, *more: str) -> Result:
        conf, home = tmp_path / "conf", lake
        shutil.copytree(CONF, conf)
        (tmp_path / "lines").write_text("{}\n")
        match trouble:
            case Trouble.BROKER:
                # One that is not ours, and is not there. How long it is waited for is shown elsewhere.
                monkeypatch.setenv("LAKEHOUSE__KAFKA__LOCAL", "false")
                monkeypatch.setitem(Connection.__init__.__kwdefaults__, "timeout", 0.5)
            case Trouble.CATALOG:
                home = tmp_path / "home"
                home.mkdir()
                (home / "catalog.db").write_bytes(b"This is no database. " * 99)
            case Trouble.SETTINGS:
                (conf / "lakehouse.yaml").write_text("platfrom: local\n")
            case Trouble.DECLARATION:
                (conf / "declarations" / "tables" / "flights.py").write_text("from lakehouse import Tabel\n")
            case Trouble.TABLE:
                home = tmp_path / "home"
            case Trouble.NAME:
                pass
        monkeypatch.setenv("LAKEHOUSE_HOME", str(home))
        monkeypatch.setenv("LAKEHOUSE_CONF", str(conf))
        monkeypatch.setenv("LAKEHOUSE_PLATFORM", "local")
        monkeypatch.setenv("LAKEHOUSE__KAFKA__BOOTSTRAP_SERVERS", "127.0.0.1:1")
        paths = {"{new}": str(tmp_path / "new"), "{lines}": str(tmp_path / "lines")}
        words = [paths.get(word, word) for word in EXIT_CODES[verb].words_in(trouble)]
        return CliRunner().invoke(app, [*verb.split(), *words, *more])

    return call


def test_no_verb_is_left_out() -> None:
    assert {name for name, _ in verbs()} == EXIT_CODES.keys(), "give it a row in lakehouse_tests/cli/exit_codes.py"


@pytest.mark.parametrize(("verb", "trouble"), CASES)
def test_a_verb_ends_with_its_code_and_one_line(call: Callable[..., Result], verb: str, trouble: Trouble) -> None:
    result = call(verb, trouble)
    assert result.exit_code == EXIT_CODES[verb].code(trouble), result.output
    assert "Traceback" not in result.output
    if result.exit_code == 2:
        assert re.search(trouble.line, result.stderr), result.stderr
        lines = result.stderr.splitlines()
        assert all("Remedy: " in line for line in lines)
        # What does not load is a line of its own, before that of what could not be done without.
        assert len(lines) == 1 or (trouble is Trouble.DECLARATION and lines[1].startswith("error: ") and not lines[2:])


@pytest.mark.parametrize(
    "verb", [name for name, verb in verbs() if "--json" in {word for option in verb.params for word in option.opts}]
)
def test_what_prints_json_prints_nothing_else_where_it_cannot_run(call: Callable[..., Result], verb: str) -> None:
    result = call(verb, Trouble.SETTINGS, "--json")
    assert (result.exit_code, result.stdout) == (2, "")


def test_what_deletes_or_resets_shows_what_it_would_do_and_needs_yes() -> None:
    asking = {name for name, verb in verbs() if "--yes" in {w for option in verb.params for w in option.opts}}
    assert asking == DOING, "name it in DOING of lakehouse_tests/cli/test_exit_codes.py"
