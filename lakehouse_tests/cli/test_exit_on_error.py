import pytest
import typer
from typer.testing import CliRunner

from lakehouse.cli.exit_codes import COULD_NOT_RUN
from lakehouse.cli.exit_on_error import OneLinePerError
from lakehouse.errors import LakehouseError


def command(error: BaseException) -> typer.Typer:
    app = typer.Typer(cls=OneLinePerError)

    @app.callback()
    def common() -> None:
        pass

    @app.command()
    def fail() -> None:
        raise error

    return app


def test_an_error_of_ours_is_one_line_with_the_remedy_and_exit_code_2():
    message = "Topic [red] of a very long name " + "x" * 200
    result = CliRunner().invoke(command(LakehouseError(message, remedy="rename it.")), ["fail"])
    assert result.exit_code == COULD_NOT_RUN == 2
    assert result.stderr == f"error: {message} Remedy: rename it.\n"
    assert result.stdout == ""


def test_an_error_in_the_program_keeps_its_traceback_and_is_no_broken_promise():
    result = CliRunner().invoke(command(ZeroDivisionError("bug")), ["fail"])
    assert "Traceback" in result.stderr
    assert result.stderr.endswith("ZeroDivisionError: bug\n")
    assert result.exit_code == COULD_NOT_RUN


class _Outcome(BaseException):
    pass


def test_nor_is_what_is_no_exception_for_python() -> None:
    result = CliRunner().invoke(command(_Outcome("skipped")), ["fail"])
    assert result.stderr.endswith("_Outcome: skipped\n")
    assert result.exit_code == COULD_NOT_RUN


@pytest.mark.parametrize("words", [["--nonsense"], ["nonsense"], ["produce", "--days", "x"]])
def test_a_command_that_cannot_be_understood_exits_with_2(lakehouse, words: list[str]):
    assert lakehouse(*words).exit_code == 2


def test_a_missing_settings_file_is_one_line(lakehouse, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LAKEHOUSE_KAFKA", "nowhere")
    result = lakehouse("up")
    assert result.exit_code == 2
    assert "LAKEHOUSE_KAFKA" in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_state_folder_that_cannot_be_written_to_is_one_line(lakehouse, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LAKEHOUSE_HOME", "/sys/lakehouse")
    result = lakehouse("tables")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: The state folder /sys/lakehouse ")
    assert "Remedy: " in result.stderr
    assert result.stderr.count("\n") == 1
