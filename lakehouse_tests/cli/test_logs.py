"""What is logged goes to stderr, and without --verbose only what a person should worry about."""

import pytest
import structlog

from lakehouse.cli.logs import configure_logs


@pytest.mark.parametrize(("verbose", "shown"), [(False, ["late"]), (True, ["step", "late"])])
def test_results_can_be_piped(capsys: pytest.CaptureFixture[str], verbose: bool, shown: list[str]) -> None:
    try:
        configure_logs(verbose=verbose)
        structlog.get_logger().info("step")
        structlog.get_logger().warning("late")
    finally:
        structlog.reset_defaults()
    printed = capsys.readouterr()
    assert printed.out == ""
    assert [word for word in ("step", "late") if word in printed.err] == shown
