import hashlib
from pathlib import Path

import pytest

from lakehouse.engines.class_path import class_path, sets_of
from lakehouse.engines.jars import JarMismatch
from lakehouse.settings import CatalogSettings, Settings, load_settings
from lakehouse.settings.state import StateFolder

NAMES = {
    "spark": ["commons-pool2-1.jar", "iceberg-spark-runtime-1.jar", "zebra-1.jar"],
    "aws": ["iceberg-aws-bundle-1.jar"],
}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings whose locks and JARs are small ones of the test."""
    conf = tmp_path / "conf"
    for folder, names in NAMES.items():
        lock = conf / "jars" if folder == "spark" else conf / "jars" / folder
        jars = tmp_path / "state" / "jars" / folder
        for path in (lock, jars):
            path.mkdir(parents=True, exist_ok=True)
        for name in names:
            (jars / name).write_bytes(name.encode())
        lines = [f"{hashlib.sha256(name.encode()).hexdigest()}  {name}\n" for name in names]
        (lock / "jars.sha256").write_text("".join(lines))
    loaded = load_settings(Path(__file__).parents[2] / "conf", {})
    return loaded.model_copy(update={"conf": conf, "state": StateFolder(tmp_path / "state")})


def on_s3(settings: Settings) -> Settings:
    catalog = CatalogSettings(type="rest", uri="http://rest", warehouse="lake", storage="s3", access="vended")
    return settings.model_copy(update={"catalog": catalog})


def test_icebergs_jar_is_first(settings: Settings) -> None:
    names = [jar.name for jar in class_path(settings)]
    assert names == ["iceberg-spark-runtime-1.jar", "commons-pool2-1.jar", "zebra-1.jar"]


def test_jars_of_a_cloud_are_there_only_where_the_catalog_asks_for_them(settings: Settings) -> None:
    assert sets_of(settings) == ()
    assert sets_of(on_s3(settings)) == ("aws",)
    assert class_path(on_s3(settings))[-1].name == "iceberg-aws-bundle-1.jar"


def test_jars_of_all_clouds_are_there_that_catalogs_are_in(settings: Settings) -> None:
    other = CatalogSettings(type="sql", uri="postgresql+psycopg://me@db/lake", warehouse="abfss://w@a.net/lake")
    both = on_s3(settings).model_copy(update={"other_catalogs": {"azure": other}})
    assert sets_of(both) == ("aws", "azure"), "of another SQL catalog the files alone are read"


def test_one_that_is_missing_is_named(settings: Settings) -> None:
    (settings.state.jars / "aws" / "iceberg-aws-bundle-1.jar").unlink()
    class_path(settings)
    with pytest.raises(JarMismatch, match="iceberg-aws-bundle"):
        class_path(on_s3(settings))


def test_a_bundle_that_the_user_brings_is_not_brought_again(settings: Settings) -> None:
    s3 = on_s3(settings)
    for key, value in {"spark.jars": "/opt/a.jar,/opt/iceberg-aws-bundle-2.jar"}.items():
        platform = s3.platform.model_copy(update={"conf": {key: value}})
        assert sets_of(s3.model_copy(update={"platform": platform})) == ()
    lock = settings.conf / "jars" / "jars.sha256"
    lock.write_text(lock.read_text() + f"{'0' * 64}  iceberg-aws-bundle-2.jar\n")
    assert sets_of(s3) == ()


def test_a_password_that_is_not_there_is_no_matter_of_jars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LAKE_PASSWORD", raising=False)
    settings = load_settings(Path(__file__).parents[2] / "conf", {"LAKEHOUSE_CATALOG": "postgresql"})
    assert sets_of(settings) == ("postgresql",)
