"""`lakehouse polaris policies`: what a policy says and nobody does ends with 1."""

import json
from pathlib import Path

import pytest

from lakehouse_tests.cli.commands.environment.polaris.conftest import Polaris
from lakehouse_tests.polaris.played_server import PlayedPolaris

DECLARED = '''"""A table."""

import pandera.pyspark as pa

from lakehouse import Table


class Flights(pa.DataFrameModel):
    """Flights."""

    id: int


FLIGHTS = Table(name="raw.flights", schema=Flights, description="Flights.", owner="me")
'''


@pytest.fixture
def declared(tmp_path: Path, polaris: Polaris) -> None:
    conf = tmp_path / "conf"
    (conf / "declarations").mkdir()
    (conf / "declarations" / "flights.py").write_text(DECLARED)
    settings = conf / "lakehouse.yaml"
    settings.write_text(settings.read_text().replace("declarations: []", "declarations: [declarations]"))


def test_policies_beside_declarations(declared: None, polaris: Polaris, played: PlayedPolaris, tmp_path: Path) -> None:
    polaris("apply", "--yes", "--secrets", str(tmp_path / "secrets"))
    assert polaris("policies").stdout == "No policy applies to a declared table.\n"
    played.tables.add(("lake_aws", "raw", "flights"))
    fields = {"policy-type": "system.snapshot-expiry", "name": "two-days", "inherited": False, "namespace": ["raw"]}
    played.policies["lake_aws", "raw", "flights"] = [{**fields, "content": '{"enable": true}'}]
    assert polaris("policies", "raw.flights").stdout == (
        "raw.flights: two-days: enable = yes; Maintenance.expire = yes\n"
    )
    content = '{"enable": true, "config": {"max_snapshot_age_days": 2, "max_ref_age_days": 3}}'
    played.policies["lake_aws", "raw", "flights"] = [{**fields, "content": content}]
    differs = polaris("policies")
    assert differs.exit_code == 1
    assert differs.stdout.splitlines()[1:] == [
        "raw.flights: two-days: max_snapshot_age_days = 2 days; Expire.max_snapshot_age = 5 days",
        "raw.flights: two-days: max_ref_age_days = 3; no declaration has a word for it",
    ]
    assert [setting["agrees"] for setting in json.loads(polaris("policies", "--json").stdout)] == [True, False, False]
