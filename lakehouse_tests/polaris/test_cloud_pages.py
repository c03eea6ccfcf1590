"""docs/how-to/clouds: what each page has to be written into files loads, and its parts fit together."""

import json
import re
import shutil
from pathlib import Path

import pytest

from lakehouse.polaris import load_polaris
from lakehouse.settings import load_settings
from lakehouse_tests.fixtures.broker import REPOSITORY

PAGES = sorted((REPOSITORY / "docs" / "how-to" / "clouds").glob("*.md"))


def shown(page: Path, language: str) -> list[str]:
    """The blocks of a page."""
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_server_and_its_catalog_load(page: Path, tmp_path: Path) -> None:
    conf = tmp_path / "conf"
    shutil.copytree(REPOSITORY / "conf", conf, ignore=shutil.ignore_patterns("declarations"))
    [declared] = shown(page, "yaml")
    shutil.rmtree(conf / "polaris")
    (conf / "polaris").mkdir()
    (conf / "polaris" / "lake.yaml").write_text(declared)
    server = load_polaris(conf)
    assert server.principal_roles == ("lake_reader", "lake_run", "lake_verify")
    [shipped] = set(re.findall(r"Copy `(polaris-\w+\.yaml)`", page.read_text()))
    copied = (conf / "catalogs" / shipped).read_text().replace("polaris.example", "polaris.acme.example")
    (conf / "catalogs" / "lake.yaml").write_text(re.sub(r"(?m)^warehouse: .*$", "warehouse: lake", copied))
    settings = load_settings(conf, {"LAKEHOUSE_CATALOG": "lake", "LAKE_CREDENTIAL": "id:secret"})
    storage = settings.catalog.storage
    assert storage == {"s3": "s3", "gcs": "gcs", "azure": "adls"}[server.catalogs["lake"].storage.type]


def test_on_aws_both_directions_name_the_role_and_the_external_id_of_the_catalog() -> None:
    [page] = [page for page in PAGES if page.stem == "aws"]
    trust, lake, assume = (json.loads(block)["Statement"] for block in shown(page, "json"))
    [declared] = shown(page, "yaml")
    assert f"external_id: {trust[0]['Condition']['StringEquals']['sts:ExternalId']}\n" in declared
    assert f"role_arn: {assume[0]['Resource']}\n" in declared
    assert lake[0]["Resource"] == "arn:aws:s3:::acme-lake/warehouse/*"
    assert "location: s3://acme-lake/warehouse\n" in declared
