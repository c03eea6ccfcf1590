"""Glue's Data Catalog on moto: tables are made, read, listed and dropped as in any catalog of ours."""

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError
from pyiceberg.exceptions import NoSuchTableError

from lakehouse.protocol.catalog import CatalogRefused, CatalogUnreachable, catalog_refusal, probe
from lakehouse.protocol.catalog.glue_catalog.glue import GlueLakeCatalog
from lakehouse_tests.fixtures.lakes import Lake

pytestmark = pytest.mark.slow


def test_it_passes_the_probe_and_leaves_nothing(glue_lake: Lake) -> None:
    probe(glue_lake.catalog, glue_lake.namespace)
    assert glue_lake.catalog.list_tables(glue_lake.namespace) == []


def test_what_is_written_is_read_also_by_pyiceberg_alone(glue_lake: Lake) -> None:
    name = glue_lake.create("a")
    glue_lake.write("first", a=[1, 2])
    table = glue_lake.load(name)
    plain = type(glue_lake.catalog).__mro__[1](glue_lake.catalog.name, **glue_lake.catalog.properties)
    assert sorted(plain.load_table(name).scan().to_arrow()["n"].to_pylist()) == [1, 2]
    entry = glue_lake.catalog.glue.get_table(DatabaseName=glue_lake.namespace, Name="a")["Table"]
    assert entry["Parameters"]["metadata_location"] == table.metadata_location
    assert entry["Parameters"]["previous_metadata_location"] in {
        logged.metadata_file for logged in table.metadata.metadata_log
    }
    plain.glue.close()


def test_what_glue_refuses_is_said_in_a_line(glue_lake: Lake) -> None:
    with pytest.raises(ClientError) as refused:
        glue_lake.catalog.glue.get_database(Name="nothing")
    refusal = catalog_refusal(refused.value, glue_lake.settings)
    assert isinstance(refusal, CatalogRefused)
    assert "EntityNotFoundException" in refusal.message
    silent = catalog_refusal(EndpointConnectionError(endpoint_url="http://hush"), glue_lake.settings)
    assert isinstance(silent, CatalogUnreachable)
    assert "hush" not in str(silent)


def test_tables_are_listed_and_those_of_others_left_out(glue_lake: Lake) -> None:
    assert isinstance(glue_lake.catalog, GlueLakeCatalog)
    name = glue_lake.create("a")
    glue_lake.catalog.glue.create_table(
        DatabaseName=glue_lake.namespace, TableInput={"Name": "hive", "Parameters": {"EXTERNAL": "TRUE"}}
    )
    mine, others = (glue_lake.namespace, "a"), (glue_lake.namespace, "hive")
    location = glue_lake.load(name).metadata_location
    assert glue_lake.catalog.locations([mine, others, ("raw", "nothing")]).known == {mine: location}
    assert [entry.identifier for entry in glue_lake.catalog.entries() if entry.identifier[0] == mine[0]] == [mine]
    with pytest.raises(NoSuchTableError, match="no Iceberg table"):
        glue_lake.catalog.load_table(others)
    glue_lake.catalog.remove_table(mine)
    assert not glue_lake.catalog.table_exists(mine)
