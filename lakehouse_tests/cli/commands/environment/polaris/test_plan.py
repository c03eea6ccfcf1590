"""`lakehouse polaris plan` and `apply`: exit codes, what is shown, and where secrets go."""

import json
import stat
from pathlib import Path

from lakehouse_tests.cli.commands.environment.polaris.conftest import Polaris
from lakehouse_tests.polaris.played_server import PlayedPolaris, secrets_of


def test_from_nothing_to_as_declared(polaris: Polaris, played: PlayedPolaris, tmp_path: Path) -> None:
    planned = polaris("plan")
    assert (planned.exit_code, planned.stderr) == (1, "")
    assert "create catalog lake_aws\n  location: s3://acme-lake/warehouse\n" in planned.stdout
    shown = polaris("apply", "--secrets", str(tmp_path / "secrets"))
    assert (shown.exit_code, shown.stdout) == (0, planned.stdout)
    assert played.writes == []
    refused = polaris("apply", "--yes")
    assert refused.exit_code == 2
    assert "name one with --secrets FILE" in refused.stderr
    assert played.writes == []
    applied = polaris("apply", "--yes", "--secrets", str(tmp_path / "secrets"))
    assert applied.exit_code == 0, applied.output
    assert applied.stdout.endswith(f"Credentials of new principals are in {tmp_path / 'secrets'}.\n")
    assert stat.S_IMODE((tmp_path / "secrets").stat().st_mode) == 0o600
    again = polaris("plan")
    assert (again.exit_code, again.stdout) == (0, "The server is as declared.\n")
    once_more = polaris("apply", "--yes")
    assert (once_more.exit_code, once_more.stdout) == (0, "The server is as declared.\n")
    output = "".join(result.output for result in (planned, shown, refused, applied, again, once_more))
    assert not [secret for secret in secrets_of(played) if secret in output]
    assert [secret for secret in secrets_of(played) if secret in (tmp_path / "secrets").read_text()]


def test_json_says_each_difference(polaris: Polaris, played: PlayedPolaris, tmp_path: Path) -> None:
    polaris("apply", "--yes", "--secrets", str(tmp_path / "secrets"))
    played.catalogs["lake_aws"]["storageConfigInfo"].update(region="us-east-1", externalId="other")
    played.principals["bob"] = {"name": "bob"}
    planned = polaris("plan", "--json")
    assert planned.exit_code == 1
    report = json.loads(planned.stdout)
    assert (report["drift"], report["others"], report["done"]) == (True, ["principal bob"], 0)
    assert "externalId is other and should be acme-lake" in report["refused"][0]["problem"]
    refused = polaris("apply", "--yes", "--json")
    assert (refused.exit_code, refused.stdout) == (2, "")
    played.catalogs["lake_aws"]["storageConfigInfo"]["externalId"] = "acme-lake"
    report = json.loads(polaris("apply", "--yes", "--json").stdout)
    assert report["changes"] == [
        {"action": "update", "what": "catalog lake_aws", "details": ["region: us-east-1 → eu-central-1"]}
    ]
    assert report["done"] == 1
