"""`lakehouse verify` as a user calls it, in a process of its own, on pairs of a catalog and a platform."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from lakehouse.settings import CatalogSettings, KafkaSettings
from lakehouse_tests.fixtures.environ import clean_environ
from lakehouse_tests.fixtures.lent_store import LendingCatalog
from lakehouse_tests.fixtures.moto_server import REGION
from lakehouse_tests.fixtures.postgres import Postgres
from lakehouse_tests.fixtures.seaweedfs import SeaweedFs
from lakehouse_tests.fixtures.spark import PLATFORM, free_port
from lakehouse_tests.fixtures.standalone_cluster import RPC_SECRET, standalone_cluster
from lakehouse_tests.orchestration.assets.house import write_conf

# In `make test` each part of a pair has tests of its own, on the session's Spark.
pytestmark = [pytest.mark.soak, pytest.mark.spark, pytest.mark.kafka, pytest.mark.slow, pytest.mark.timeout(900)]
PLATFORMS = ("classic", "connect", "standalone")
CATALOGS = ("sqlite", "postgresql", "lent", "seaweedfs", "glue")
NOT_SEEN = {"glue": {"credentials", "scope", "kill"}, "lent": set[str](), "seaweedfs": set[str]()}
"""Of others: nothing is lent. Of Glue also what P2 promises, which does not hold there."""


@pytest.fixture
def undo() -> Iterator[ExitStack]:
    """What is started for a test ends with it."""
    with ExitStack() as stack:
        yield stack


def _catalog(kind: str, folder: Path, request: pytest.FixtureRequest, undo: ExitStack) -> Mapping[str, Any]:
    warehouse = (folder / "warehouse").as_uri()
    if kind == "sqlite":
        return {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db?timeout=30", "warehouse": warehouse}
    if kind == "postgresql":
        server: Postgres = request.getfixturevalue("postgres")
        return {
            "type": "sql",
            "uri": undo.enter_context(server.new_database("verify")).replace(server.password, "${env:LAKE_SECRET}"),
            "warehouse": warehouse,
            "secret": server.password,
        }
    if kind == "seaweedfs":
        return _seaweedfs(request.getfixturevalue("seaweedfs"))
    if kind == "glue":
        glue: CatalogSettings = request.getfixturevalue("glue_settings")
        return glue.model_dump(mode="json", exclude_unset=True)
    lending: LendingCatalog = request.getfixturevalue("lending_catalog")
    return {
        "type": "rest",
        "uri": lending.uri,
        "warehouse": "s3://lake/warehouse",
        "access": "vended",
        "region": REGION,
        "endpoint": lending.store.uri,
        "path_style": True,
        "properties": {"credential": "${env:LAKE_SECRET}"},
        "secret": ":".join(lending.login),
    }


def _seaweedfs(server: SeaweedFs) -> Mapping[str, Any]:
    document = server.settings.model_dump(mode="json", exclude_unset=True)
    return {**document, "properties": {"credential": "${env:LAKE_SECRET}"}, "secret": server.login}


def _platform(kind: str, folder: Path, undo: ExitStack) -> Mapping[str, Any]:
    if kind == "standalone":
        return undo.enter_context(standalone_cluster(folder / "cluster")).platform("classic")
    if kind == "connect":
        return {**PLATFORM, "mode": "connect", "remote": f"sc://127.0.0.1:{free_port()}"}
    return PLATFORM


@pytest.mark.parametrize(
    ("catalog", "platform"),
    [
        pytest.param(catalog, platform, marks=[pytest.mark.clouds] if catalog == "seaweedfs" else [])
        for catalog in CATALOGS
        for platform in (("connect",) if catalog == "glue" else PLATFORMS)
    ],
)
def test_every_promise_is_seen(
    catalog: str,
    platform: str,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    jars: Path,
    broker: KafkaSettings,
    undo: ExitStack,
) -> None:
    conf = write_conf(tmp_path, broker, jars)
    (conf / "catalogs").unlink()
    (conf / "catalogs").mkdir()
    document = dict(_catalog(catalog, tmp_path, request, undo))
    environ = clean_environ(
        LAKEHOUSE_CONF=str(conf),
        SPARK_RPC_SECRET=RPC_SECRET,
        LAKE_SECRET=document.pop("secret", ""),
        LAKEHOUSE_HOME=str(tmp_path / "state"),
    )
    (conf / "catalogs" / "tried.yaml").write_text(yaml.safe_dump(document))
    (conf / "platforms" / "tried.yaml").write_text(yaml.safe_dump(dict(_platform(platform, tmp_path, undo))))

    def lakehouse(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "lakehouse", *words]
        return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=800, check=False)

    environ |= {"LAKEHOUSE_CATALOG": "tried", "LAKEHOUSE_PLATFORM": "tried"}
    assert lakehouse("jars").returncode == 0
    if platform == "connect":
        undo.callback(lakehouse, "down")
        up = lakehouse("up", "--connect")
        assert up.returncode == 0, up.stderr
    done = lakehouse("verify", "--records", "60", "--yes", "--json")
    assert done.stdout, done.stderr[-3000:]
    verdicts = {trial["trial"]: trial for trial in json.loads(done.stdout)["trials"]}
    assert {name: trial for name, trial in verdicts.items() if trial["verdict"] == "refused"} == {}, done.stderr[-3000:]
    assert {name for name, trial in verdicts.items() if trial["verdict"] == "not seen"} == NOT_SEEN.get(
        catalog, {"credentials", "scope"}
    )
    assert done.returncode == 0
