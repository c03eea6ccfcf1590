"""`lakehouse checkpoint` and `lakehouse retire`, as docs/how-to/retire-changes.md shows them. See `steps/cdc`."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from lakehouse.cli import app
from lakehouse.declarations import Changelog, Declarations
from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.leases.lease import Lease, take_lease
from lakehouse_tests.fixtures.lakes import sql_settings
from lakehouse_tests.steps.cdc.mirrored import LOG, ROW, MirroredLake, insert

pytestmark = pytest.mark.slow


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MirroredLake:
    """Five changes of long ago, mirrored."""
    keep = timedelta(days=1)
    log = Changelog(name=LOG, topic="birds", row=ROW, key=("id",), description="Birds.", owner="tests", retention=keep)
    made = MirroredLake(open_catalog(sql_settings(tmp_path)), log=log)
    made.ingest(*(insert(n, n) for n in range(1, 6)))
    made.apply()
    mirrors = {made.tables.mirror.name: made.tables}
    declared = Declarations({}, {log.stream_name: made.stream}, {}, {log.name: log}, mirrors)
    monkeypatch.setattr("lakehouse.cli.declared.load_sound", lambda *_, **__: declared)
    for module in ("lakehouse.cli.commands.maintain.retire", "lakehouse.cli.commands.repair.rebuild"):
        monkeypatch.setattr(f"{module}.catalog_of", lambda _: made.catalog)
    monkeypatch.setenv("LAKEHOUSE_HOME", str(tmp_path / "home"))
    return made


def call(*words: str) -> Result:
    return CliRunner().invoke(app, words, env={"COLUMNS": "160"})


def test_changes_go_after_a_checkpoint_and_with_a_yes(lake: MirroredLake) -> None:
    refused = call("retire", LOG, "--yes")
    assert refused.exit_code == 2
    assert "has no checkpoint" in refused.stderr
    made = call("checkpoint", lake.tables.mirror.name)
    assert made.exit_code == 0, made.output
    assert "is its changelog, 5 rows at position" in made.stdout
    again = json.loads(call("checkpoint", lake.tables.mirror.name, "--json").stdout)
    assert (again["mirror"], again["rows"]) == (lake.tables.mirror.name, 5)
    assert again["tag"] in made.stdout.replace("\n", "")
    shown = call("retire", LOG)
    assert "Would remove 5 changes" in shown.stdout
    report = {"changelog": LOG, "changes": 5, "before": {"0": 5}, "behind": [], "done": False}
    assert json.loads(call("retire", LOG, "--json").stdout) == report
    assert len(lake.rows(LOG)) == 5
    done = call("retire", LOG, "--yes")
    assert done.exit_code == 0, done.output
    assert "Removed 5 changes" in done.stdout
    assert lake.rows(LOG) == []
    assert "no change is older" in call("retire", LOG, "--yes").stdout
    report = {"changelog": LOG, "changes": 0, "before": {}, "behind": [], "done": False}
    assert json.loads(call("retire", LOG, "--yes", "--json").stdout) == report


def test_who_has_not_read_what_could_go_is_named(lake: MirroredLake) -> None:
    changelog = lake.load(LOG)
    head = changelog.metadata.current_snapshot_id or 0
    take_lease(lake.catalog, Lease(changelog.name(), str(changelog.metadata.table_uuid), "export", head))
    lake.ingest(insert(6, 6))
    lake.apply()
    assert call("checkpoint", lake.tables.mirror.name).exit_code == 0
    shown = call("retire", LOG)
    assert "Would remove 5 changes" in shown.stdout
    assert "not read yet: let export run, or give up what is still to be read: `lakehouse lease release" in shown.stdout
    assert json.loads(call("retire", LOG, "--yes", "--json").stdout)["behind"] == ["export"]
    refused = call("retire", LOG, "--yes")
    assert refused.exit_code == 2
    assert "before export reads it" in refused.stderr


def test_names_that_nobody_declared_are_one_line(lake: MirroredLake) -> None:
    assert "There is no changelog x.y. Remedy: name one of" in call("retire", "x.y").stderr
    assert "There is no mirror x.y. Remedy: name one of" in call("checkpoint", "x.y").stderr
