"""Polaris' own client, in a process of its own: it takes our requests, our file, and says the same of the server."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from lakehouse.polaris import CredentialsFile, PolarisApi, PolarisServer, plan_polaris, survey, wanted
from lakehouse.polaris.rotation import reset_credentials, rotate_credentials
from lakehouse.polaris.setup_file import setup_file
from lakehouse_tests.polaris.played_server import ROOT, ROOT_SECRET, PlayedPolaris

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
READER = Path(__file__).with_name("read_by_client.py")


def run(client: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(client)}
    command = [sys.executable, *words]
    return subprocess.run(command, check=False, env=environment, capture_output=True, text=True, timeout=120)


def polaris(client: Path, played: PlayedPolaris, *words: str) -> subprocess.CompletedProcess[str]:
    login = ("--base-url", played.url, "--client-id", ROOT, "--client-secret", ROOT_SECRET)
    return run(client, "-m", "apache_polaris.cli.polaris_cli", *login, *words)


def test_every_request_and_answer_is_one_of_polaris_description(
    applied: PlayedPolaris, api: PolarisApi, server: PolarisServer, polaris_client: Path, tmp_path: Path
) -> None:
    """A catalog, a principal and grants are changed too, so that every request is made once."""
    applied.catalogs["lake_aws"]["storageConfigInfo"]["region"] = "us-east-1"
    applied.principal_roles.add("analysts")
    applied.roles_of["lake-reader"].add("analysts")
    applied.holders["lake_aws", "reader"].add("analysts")
    table = {"type": "table", "privilege": "TABLE_SET_SNAPSHOT_REF", "namespace": ["mart"], "tableName": "loads"}
    applied.catalog_roles["lake_aws"]["reader"] += [table, {"type": "catalog", "privilege": "TABLE_DROP"}]
    for change in plan_polaris(wanted(server), survey(api, server)).changes:
        api.tell(change.request)
    kept = CredentialsFile(tmp_path / "secrets")
    rotate_credentials(server, "lake-ingest", kept)
    reset_credentials(api, server, "lake-ingest", kept)
    exchanges = tmp_path / "exchanges"
    exchanges.write_text("".join(f"{json.dumps(exchange)}\n" for exchange in applied.exchanges))
    read = run(polaris_client, str(READER), str(exchanges))
    assert (read.returncode, read.stderr) == (0, ""), read.stdout
    assert int(read.stdout.split()[0]) > 120


def test_the_reader_tells_what_is_not_in_the_description(polaris_client: Path, tmp_path: Path) -> None:
    grant = {"grant": {"type": "table", "privilege": "TABLE_CREATE", "namespace": ["raw"], "tableName": "flights"}}
    catalog = {"type": "INTERNAL", "name": "a", "properties": {"default-base-location": "s3://a"}}
    storage = {"storageType": "S3", "allowedLocations": [], "roleARN": "arn:aws:iam::123456789012:role/a"}
    path = "/api/management/v1/catalogs"
    wrong = [
        ("PUT", f"{path}/a/catalog-roles/b/grants", grant, 201, None),
        ("PUT", f"{path}/a", {"storageConfigInfo": storage}, 200, {**catalog, "storageConfigInfo": storage}),
        ("DELETE", path, None, 204, None),
    ]
    (tmp_path / "exchanges").write_text("".join(f"{json.dumps(exchange)}\n" for exchange in wrong))
    read = run(polaris_client, str(READER), str(tmp_path / "exchanges"))
    lines = [line for line in read.stdout.splitlines() if line.startswith(("PUT /catalogs", "DELETE"))]
    assert read.returncode == 1
    assert [line.split(" {")[0].split("Error")[0] for line in lines] == [
        "PUT /catalogs/a/catalog-roles/b/grants: AddGrantRequest: Validation",
        "PUT /catalogs/a: UpdateCatalogRequest: read as",
        "PUT /catalogs/a: Catalog: read as",
        "DELETE /catalogs: no operation of Polaris",
    ]


def test_setup_apply_makes_of_our_file_what_we_would_have_made(
    played: PlayedPolaris, api: PolarisApi, server: PolarisServer, polaris_client: Path, tmp_path: Path
) -> None:
    (tmp_path / "setup.yaml").write_text(setup_file(server))
    done = polaris(polaris_client, played, "setup", "apply", str(tmp_path / "setup.yaml"))
    assert done.returncode == 0, done.stderr
    assert not plan_polaris(wanted(server), survey(api, server)).drift


def test_setup_export_says_what_we_have_applied(
    applied: PlayedPolaris, server: PolarisServer, polaris_client: Path
) -> None:
    exported = polaris(polaris_client, applied, "setup", "export")
    assert exported.returncode == 0, exported.stderr
    theirs, ours = yaml.safe_load(exported.stdout), yaml.safe_load(setup_file(server))
    del theirs["principals"]["root"]
    assert theirs["principals"] == ours["principals"]
    assert set(theirs["principal_roles"]) == {"service_admin", *ours["principal_roles"]}
    for catalog in theirs["catalogs"]:
        (same,) = (exported for exported in ours["catalogs"] if exported["name"] == catalog["name"])
        del catalog["roles"]["catalog_admin"]
        assert rights(catalog) == rights(same)
        plain = same.keys() - {"roles", "namespaces"}
        assert {key: catalog.get(key) for key in plain} == {key: same[key] for key in plain}


def rights(catalog: dict[str, Any]) -> object:
    """Role → who has it, and what it may where."""
    return {
        name: (
            set(role["assign_to"]),
            _sets(role["privileges"].get("catalog")),
            _sets(role["privileges"].get("namespace") or {}),
        )
        for name, role in catalog["roles"].items()
    }


def _sets(privileges: Any) -> object:
    if isinstance(privileges, dict):
        return {namespace: set(names) for namespace, names in privileges.items()}
    if privileges and isinstance(privileges[0], dict):  # as the client exports them, and does not read them
        return {".".join(grant["namespace"]): set(grant["privileges"]) for grant in privileges}
    return set(privileges or ())
