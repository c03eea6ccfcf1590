from typing import get_args

import pytest

from lakehouse.settings.catalogs.storage import JarSet, jar_sets, storage_of
from lakehouse.settings.shipped import shipped


@pytest.mark.parametrize(
    ("address", "storage"),
    [
        ("s3://lake/warehouse", "s3"),
        ("s3a://lake", "s3"),
        ("gs://lake", "gcs"),
        ("abfss://lake@account.dfs.core.windows.net/w", "adls"),
        ("wasbs://lake@account.blob.core.windows.net/w", "adls"),
        ("file:///w", None),
        ("lakehouse", None),
    ],
)
def test_an_address_says_where_it_is(address: str, storage: str | None) -> None:
    assert storage_of(address) == storage


def test_jars_are_those_of_the_storage_and_of_the_database() -> None:
    assert jar_sets(None, "sqlite:////c.db") == ()
    assert jar_sets("s3", "https://polaris") == ("aws",)
    assert jar_sets("adls", "postgresql+psycopg://db/lake") == ("postgresql", "azure")


@pytest.mark.parametrize("name", get_args(JarSet))
def test_each_set_is_pinned(name: str) -> None:
    lock = shipped("conf", "jars", name, "jars.sha256").read_text(encoding="utf-8")
    jar = lock.split()[1]
    pom = shipped("conf", "jars", name, "pom.xml").read_text(encoding="utf-8")
    artifact, version = jar.removesuffix(".jar").rsplit("-", 1)
    assert f"<artifactId>{artifact}</artifactId>" in pom
    assert f"<version>{version}</version>" in pom
