"""Every key has a variable that a shell accepts, and one that nobody reads is refused with the nearest."""

import re
from pathlib import Path

import pytest

from lakehouse.settings import SettingsError, load_settings
from lakehouse.settings.environment import property_name
from lakehouse_tests.settings.test_loading import conf, refusal

__all__ = ["conf"]


@pytest.mark.parametrize(
    ("variable", "nearest"),
    [
        ("LAKEHOUSE_PLATFROM", "LAKEHOUSE_PLATFORM"),
        ("LAKEHOUSE_INGEST__MAX_RECORDS_PER_RUN", "LAKEHOUSE__INGEST__MAX_RECORDS_PER_RUN"),
        ("LAKEHOUSE__INGEST__MAX_RECORD", "LAKEHOUSE__INGEST__MAX_RECORDS_PER_RUN"),
        ("LAKEHOUSE__KAFKA__BOOTSTRAP_SERVER", "LAKEHOUSE__KAFKA__BOOTSTRAP_SERVERS"),
        ("LAKEHOUSE__KAFKA__MSK_IAM__REGIN", "LAKEHOUSE__KAFKA__MSK_IAM__REGION"),
        ("LAKEHOUSE__TIMEZON", "LAKEHOUSE__TIMEZONE"),
    ],
)
def test_a_name_that_nobody_reads_is_refused_with_the_nearest(conf: Path, variable: str, nearest: str) -> None:
    answer = refusal(conf, {variable: "hunter2"})
    assert answer.startswith(f"Environment variable {variable}: nobody reads")
    assert f"Remedy: write {nearest}, or unset it" in answer
    assert "hunter2" not in answer


def test_a_secret_that_a_file_refers_to_may_have_a_name_like_ours(conf: Path) -> None:
    (conf / "kafka" / "other.yaml").write_text("bootstrap_servers: a:1\nproperties: {x: '${env:LAKEHOUSE_MINE}'}\n")
    load_settings(conf, {"LAKEHOUSE_MINE": "hunter2"})
    assert "LAKEHOUSE_MINES" in refusal(conf, {"LAKEHOUSE_MINES": "hunter2"})


def test_what_is_no_file_and_not_chosen_is_left_alone(conf: Path) -> None:
    (conf / "catalogs" / "folder.yaml").mkdir()
    (conf / "catalogs" / "gone.yaml").symlink_to(conf / "nowhere")
    load_settings(conf, {})
    for name in ("folder", "gone"):
        with pytest.raises(SettingsError, match=rf"{name}\.yaml"):
            load_settings(conf, {"LAKEHOUSE__CATALOG": name})


def test_each_key_can_be_set_by_a_name_that_a_shell_accepts(conf: Path) -> None:
    (conf / "catalogs" / "local.yaml").write_text(
        "type: rest\nuri: http://a\nwarehouse: w\nproperties: {header.X-Iceberg-Scope: a, s3.region: b}\n"
    )
    environ = {
        "LAKEHOUSE__PLATFORM__CONF__SPARK_SQL_SHUFFLE_PARTITIONS": "7",
        "LAKEHOUSE__PLATFORM__CONF__SPARK_DRIVER_BINDADDRESS": "127.0.0.2",
        "LAKEHOUSE__PLATFORM__CONF__spark_sql_legacy_timeParserPolicy": "LEGACY",
        "LAKEHOUSE__CATALOG__PROPERTIES__S3_SECRET_ACCESS_KEY": "hunter2",
        "LAKEHOUSE__CATALOG__PROPERTIES__S3_REGION": "c",
        "LAKEHOUSE__CATALOG__PROPERTIES__HEADER_X_ICEBERG_SCOPE": "d",
        "LAKEHOUSE__KAFKA__PROPERTIES__SASL_PASSWORD": "hunter2",
        "LAKEHOUSE__KAFKA__PROPERTIES__log__level": "3",
        "LAKEHOUSE__KAFKA__GROUP_PREFIX": "team-",
        "LAKEHOUSE__KAFKA__MSK_IAM__REGION": "eu-central-1",
        "LAKEHOUSE__PARAMETERS__LATE_AFTER_MINUTES": "20",
        "LAKEHOUSE__DAGSTER__KEEP_RUNS_DAYS": "3",
        "LAKEHOUSE__AUTOMATION__PATIENCE_SECONDS": "77",
    }
    assert all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) for name in environ)
    del environ["LAKEHOUSE__KAFKA__MSK_IAM__REGION"]  # another login than a password
    settings = load_settings(conf, environ)
    assert settings.platform.conf["spark.sql.shuffle.partitions"] == "7"
    assert settings.platform.conf["spark.driver.bindAddress"] == "127.0.0.2"
    assert settings.platform.conf["spark.sql.legacy.timeParserPolicy"] == "LEGACY"
    assert settings.catalog.properties.keys() == {"header.X-Iceberg-Scope", "s3.region", "s3.secret-access-key"}
    assert settings.catalog.properties["header.X-Iceberg-Scope"] == "d"
    assert settings.kafka.properties.keys() == {"sasl.password", "log_level"}
    assert settings.kafka.group_prefix == "team-"
    assert settings.parameters["late_after_minutes"] == 20
    assert settings.dagster.keep_runs_days == 3
    assert settings.automation.patience_seconds == 77
    assert "hunter2" not in repr(settings)
    msk = load_settings(conf, {"LAKEHOUSE__KAFKA__MSK_IAM__REGION": "eu-central-1"}).kafka.msk_iam
    assert msk is not None
    assert msk.region == "eu-central-1"


def test_a_name_that_may_mean_two_is_refused() -> None:
    assert property_name("a_b___c__d", ("x",), "V") == "a.b-c_d"
    assert property_name("sasl.password", ("sasl-password",), "V") == "sasl.password"
    with pytest.raises(SettingsError, match=r"V: a-b and a\.b are both meant by it\. Remedy: write three underscores"):
        property_name("A_B", ("a-b", "a.b"), "V")
