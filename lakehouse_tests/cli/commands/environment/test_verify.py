"""`lakehouse verify` shows what it would make, and makes nothing without --yes."""

import json
import os
import signal
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lakehouse import acceptance
from lakehouse_tests.cli.conftest import Lakehouse


def test_without_yes_only_the_plan_is_shown(lakehouse: Lakehouse) -> None:
    called = lakehouse("verify", "--records", "600")
    assert called.exit_code == 0
    assert "catalog: local, platform: local, kafka: local" in called.stdout
    assert "2 topics of 600 records, named lakehouse_verify_<random>" in called.stdout
    assert called.stdout.endswith("Nothing was done. To do this, say the same with --yes.\n")
    plan = json.loads(lakehouse("verify", "--json", "--platform", "connect").stdout)
    assert (plan["done"], plan["platform"], plan["makes"]["topics"]) == (False, "connect", 2)


def test_what_a_variable_has_chosen_is_named(lakehouse: Lakehouse, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKEHOUSE_PLATFORM", "connect")
    assert "catalog: local, platform: connect, kafka: local" in lakehouse("verify").stdout


def test_a_file_that_is_not_there_is_named(lakehouse: Lakehouse) -> None:
    called = lakehouse("verify", "--catalog", "nosuch", "--yes")
    assert called.exit_code == 2
    assert "there is no file of that name" in called.stderr


def test_without_a_broker_nothing_is_left(lakehouse: Lakehouse) -> None:
    called = lakehouse("verify", "--yes")
    assert called.exit_code == 2
    assert "127.0.0.1:1" in called.stderr


@pytest.mark.parametrize("name", [".", "nosuch/page.md", "file/page.md"])
def test_a_page_that_cannot_be_written_is_refused_before_the_first_trial(
    lakehouse: Lakehouse, tmp_path: Path, name: str
) -> None:
    (tmp_path / "file").touch()
    called = lakehouse("verify", "--yes", "--page", str(tmp_path / name))
    assert called.exit_code == 2
    assert called.stderr.startswith(f"error: --page: {tmp_path / name}: ")


def test_a_page_is_left_alone_until_there_is_something_to_write(lakehouse: Lakehouse, tmp_path: Path) -> None:
    new, old = tmp_path / "new.md", tmp_path / "old.md"
    old.write_text("of last year")
    assert [lakehouse("verify", "--page", str(page)).exit_code for page in (new, old)] == [0, 0]
    assert (new.exists(), old.read_text()) == (False, "of last year")


@pytest.mark.parametrize("minutes", ["inf", "nan", "0", "-1"])
def test_minutes_that_never_end_or_never_begin_are_refused(lakehouse: Lakehouse, minutes: str) -> None:
    assert lakehouse("verify", "--minutes", minutes).exit_code == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_trials_and_another_one_does_not_end_the_removal(
    lakehouse: Lakehouse, number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed: list[bool] = []

    @contextmanager
    def scratch(*_: object) -> Generator[None]:
        try:
            yield
        finally:
            os.kill(os.getpid(), number)
            removed.append(True)

    def carry_out(*_: object) -> Iterator[acceptance.Outcome]:
        os.kill(os.getpid(), number)
        yield acceptance.Outcome("races", "", "seen", "")

    monkeypatch.setattr(acceptance, "scratch", scratch)
    monkeypatch.setattr(acceptance, "carry_out", carry_out)
    former = [signal.signal(each, signal.default_int_handler) for each in (signal.SIGTERM, signal.SIGHUP)]
    try:
        called = lakehouse("verify", "--yes")
    finally:
        for each, handler in zip((signal.SIGTERM, signal.SIGHUP), former, strict=True):
            signal.signal(each, handler)
    assert removed == [True]
    assert "races" not in called.output
    assert called.exit_code == 128 + number
