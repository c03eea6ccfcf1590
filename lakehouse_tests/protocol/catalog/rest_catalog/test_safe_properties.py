"""A table whose properties name code or storage: nothing of it is imported, and nobody is handed our secrets."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr
from pyiceberg.catalog.rest import ConfigResponse
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.table.metadata import TableMetadataUtil

from lakehouse.protocol.catalog import open_catalog
from lakehouse.protocol.catalog.rest_catalog.safe_properties import code_free, without_code
from lakehouse.steps.maintenance.orphans.location import neighbours_below
from lakehouse_tests.fixtures.lakes import Lake

CODE = {
    "py-io-impl": "foreign_code.Anything",
    "s3.retry-strategy-impl": "foreign_code.Anything",
    "write.py-location-provider.impl": "foreign_code.Anything",
}
STORAGE = {
    "s3.endpoint": "https://evil.example",
    "s3.signer.uri": "https://evil.example",
    "s3.proxy-uri": "http://evil",
}


@pytest.fixture(autouse=True)
def foreign_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A module that anybody could have put on the path, or that a library brings along."""
    folder = tmp_path / "foreign"
    folder.mkdir()
    (folder / "foreign_code.py").write_text("def Anything(*given): raise AssertionError(f'it was given {given}')\n")
    monkeypatch.syspath_prepend(str(folder))
    yield
    assert "foreign_code" not in sys.modules


def secret(lake: Lake) -> Lake:
    """The same lake, with a secret in the catalog's settings."""
    settings = lake.settings.model_copy(update={"properties": {"s3.secret-access-key": SecretStr("ours")}})
    return Lake(settings, open_catalog(settings), lake.namespace, lake.rest)


def test_the_properties_of_a_table_choose_neither_code_nor_storage(lake: Lake) -> None:
    lake = secret(lake)
    name = lake.create("a")
    with lake.load(name).transaction() as transaction:
        transaction.set_properties({**CODE, **STORAGE, "owner": "somebody"})
    lake.write("first", a=[1, 2])
    table = lake.load(name)
    assert type(table.io) is PyArrowFileIO
    assert table.io.properties["s3.secret-access-key"] == "ours"
    assert not {*CODE, *STORAGE} & set(table.io.properties)
    assert table.properties["owner"] == "somebody"
    table.append(table.scan().to_arrow())
    assert lake.rows(name) == [1, 1, 2, 2]
    other = lake.load(lake.create("b"))
    assert neighbours_below(lake.catalog, other) == []


def test_a_table_is_made_with_properties_that_are_not_followed(lake: Lake) -> None:
    lake = secret(lake)
    name = lake.create("a", **{**STORAGE, "py-io-impl": CODE["py-io-impl"]})  # pyright: ignore[reportArgumentType]
    assert not {*CODE, *STORAGE} & set(lake.load(name).io.properties)


def test_what_a_commit_changes_keeps_what_others_have_set(sql_lake: Lake) -> None:
    name = sql_lake.create("a")
    with sql_lake.load(name).transaction() as transaction:
        transaction.set_properties(CODE)
    with sql_lake.load(name).transaction() as transaction:
        transaction.set_properties({"owner": "somebody"})
    location = sql_lake.load(name).metadata_location
    document = json.loads(Path(location.removeprefix("file://")).read_text())
    assert document["properties"].items() >= {**CODE, "owner": "somebody"}.items()
    assert not set(CODE) & set(code_free(TableMetadataUtil.parse_obj(document)).properties)


@pytest.mark.rest
def test_a_server_chooses_storage_and_no_code(rest_lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    auth = {"type": "custom", "impl": "foreign_code.Anything"}
    foreign = ConfigResponse(defaults={**CODE}, overrides={**CODE, "auth": auth, "s3.region": "eu"})
    monkeypatch.setattr(ConfigResponse, "model_validate_json", lambda _: foreign)
    catalog = open_catalog(rest_lake.settings)
    assert not {*CODE, "auth"} & set(catalog.properties)
    assert catalog.properties["s3.region"] == "eu"


def test_what_names_code() -> None:
    assert without_code({**CODE, "auth": {}, "PY-IO-IMPL": "x", "s3.region": "eu"}) == {"s3.region": "eu"}
