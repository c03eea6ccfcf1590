"""What is named of an instance that is not ours, and that what is named is enough."""

import io
import shutil
from pathlib import Path

import dagster as dg
import yaml
from rich.console import Console

from lakehouse.cli.context import Context
from lakehouse.cli.processes.instance_settings import FILE, missing_settings, name_missing_settings
from lakehouse_tests.fixtures.broker import REPOSITORY


def _named(home: Path) -> str:
    printed = io.StringIO()
    with dg.DagsterInstance.from_config(str(home)) as instance:
        name_missing_settings(Context(err=Console(file=printed, width=200)), instance, home)
    return printed.getvalue()


def test_an_instance_that_says_nothing_is_told_which_lines_to_add(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("{}")
    first, *lines = _named(tmp_path).splitlines()
    assert str(tmp_path / FILE) in first
    assert "keeps its pool for ever" in first or "in vain" in first
    (tmp_path / FILE).write_text("\n".join(lines))
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        assert not list(missing_settings(instance))
    assert _named(tmp_path) == ""


def test_what_is_set_already_is_kept(tmp_path: Path) -> None:
    pools = {"concurrency": {"pools": {"default_limit": 3, "granularity": "op"}}}
    (tmp_path / FILE).write_text(yaml.safe_dump(pools))
    added = yaml.safe_load("\n".join(_named(tmp_path).splitlines()[1:]))
    assert added["concurrency"]["pools"] == {"granularity": "run", "default_limit": 3}


def test_ours_has_all_of_it(tmp_path: Path) -> None:
    shutil.copy(REPOSITORY / FILE, tmp_path)
    with dg.DagsterInstance.from_config(str(tmp_path)) as instance:
        assert not list(missing_settings(instance))
