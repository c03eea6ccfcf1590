import re
import stat
import subprocess
from pathlib import Path

import pytest

from lakehouse.engines.jars import JarMismatch
from lakehouse.engines.spark import ConnectServer, process_conf, session_conf, spark_conf
from lakehouse.engines.spark.conf import ALLOWED_URLS, REDACTED, fixed_conf, workers_python
from lakehouse.engines.spark.properties import properties_file
from lakehouse.settings import KafkaSettings, Platform, Settings, WorkersSettings, load_settings
from lakehouse.settings.catalogs.keys import RENAMED, STORAGE_KEYS
from lakehouse.settings.plain_secret import names_a_secret
from lakehouse_tests.fixtures.spark import CONF, REPOSITORY, classic_platform, free_port, settings_of


@pytest.fixture
def settings(tmp_path: Path, jars: Path) -> Settings:
    return settings_of(tmp_path / "state", jars, classic_platform())


def test_sessions_bring_the_catalog_and_the_process_does_not(settings: Settings) -> None:
    process, session = process_conf(settings), session_conf(settings)
    assert not [key for key in process if "catalog.lake" in key]
    assert [key for key in session if "catalog.lake" in key]
    assert session["spark.sql.shuffle.partitions"] == CONF["spark.sql.shuffle.partitions"]
    assert process["spark.driver.memory"] == CONF["spark.driver.memory"]
    assert spark_conf(settings) == process | session


def test_a_platform_adds_to_lists_and_replaces_the_rest(settings: Settings) -> None:
    conf = {
        "spark.sql.extensions": "a.B",
        "spark.driver.extraJavaOptions": "-Da=b",
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "Europe/Berlin",
    }
    platform = settings.platform.model_copy(update={"conf": conf})
    merged = spark_conf(settings.model_copy(update={"platform": platform}))
    assert merged["spark.sql.extensions"].endswith("IcebergSparkSessionExtensions,a.B")
    assert merged["spark.driver.extraJavaOptions"].endswith(" -Da=b")
    assert merged["spark.log.level"] == "ERROR"
    assert merged["spark.sql.session.timeZone"] == "Europe/Berlin"


def test_consumers_of_a_batch_are_let_go_of_unless_a_platform_says_otherwise(settings: Settings) -> None:
    kept = [key for key in process_conf(settings) if key.startswith("spark.kafka.consumer.") and "imeout" in key]
    assert len(kept) == 2
    platform = settings.platform.model_copy(update={"conf": dict.fromkeys(kept, "5m")})
    merged = process_conf(settings.model_copy(update={"platform": platform}))
    assert {merged[key] for key in kept} == {"5m"}


def test_executors_on_a_cluster_are_sent_the_jars(settings: Settings) -> None:
    platform = settings.platform.model_copy(update={"master": "spark://host:7077"})
    conf = process_conf(settings.model_copy(update={"platform": platform}))
    assert "iceberg-spark-runtime" in conf["spark.jars"]
    assert "spark.local.dir" not in conf, "the cluster's disks are the cluster's affair"
    assert "spark.jars" not in process_conf(settings)


def test_a_tampered_jar_never_becomes_a_class_path(settings: Settings) -> None:
    folder = settings.state.jars
    shared = folder.resolve()
    folder.unlink()
    (folder / "spark").mkdir(parents=True)
    for jar in (shared / "spark").iterdir():
        (folder / "spark" / jar.name).write_bytes(jar.read_bytes() if "sqlite" in jar.name else b"")
    with pytest.raises(JarMismatch, match="iceberg-spark-runtime"):
        process_conf(settings)
    platform = Platform(name="test", mode="connect", master="local[1]", remote=f"sc://127.0.0.1:{free_port()}")
    server = ConnectServer(settings.model_copy(update={"platform": platform}))
    with pytest.raises(JarMismatch, match="iceberg-spark-runtime"):
        server.start()
    assert not server.running()


def test_java_reads_back_what_we_wrote(tmp_path: Path) -> None:
    conf = {"spark.a": r"C:\temp = #1!", "spark.b": " ünïcode 🦊\n\ttabs ", "spark.c:d": "", "spark.e": "${x}"}
    program = tmp_path / "Read.java"
    program.write_text(
        """
        public class Read {
          public static void main(String[] args) throws Exception {
            var properties = new java.util.Properties();
            try (var reader = new java.io.FileReader(args[0], java.nio.charset.StandardCharsets.UTF_8)) {
              properties.load(reader);
            }
            var out = new java.io.PrintStream(System.out, true, "UTF-8");
            for (int i = 1; i < args.length; i++) out.print(properties.getProperty(args[i]) + "\\0");
          }
        }
        """
    )
    with properties_file(conf, tmp_path / "private") as file:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        read = subprocess.run(["java", program, file, *conf], capture_output=True, check=True).stdout
    assert dict(zip(conf, read.decode().split("\0"), strict=False)) == conf
    assert not list((tmp_path / "private").iterdir())


def test_the_token_endpoint_of_kafka_is_one_that_java_may_ask(settings: Settings) -> None:
    endpoint = "https://idp.example/token"
    kafka = KafkaSettings(bootstrap_servers="a:1", properties={"sasl.oauthbearer.token.endpoint.url": endpoint})
    oidc = settings.model_copy(update={"kafka": kafka})
    assert f" -D{ALLOWED_URLS}={endpoint}" in process_conf(oidc)["spark.driver.extraJavaOptions"]
    assert ALLOWED_URLS not in process_conf(settings)["spark.driver.extraJavaOptions"]
    platform = Platform(name="far", mode="classic", master="spark://far:7077")
    far = process_conf(oidc.model_copy(update={"platform": platform}))
    assert far["spark.executor.extraJavaOptions"] == f"-D{ALLOWED_URLS}={endpoint}"


_SECRETS = [
    *(key for key in STORAGE_KEYS if key != "s3.access-key-id"),
    *("credential", "token", "password", "header.Authorization", "header.Cookie", "adls.sas-token.account"),
    *("adls.connection-string.account.dfs.core.windows.net", "gcs.encryption-key", "gcs.decryption-key", "s3.sse.key"),
    *("keystore.key", "basic.auth.user.info", "private-key", "api_key", "signing.key", "passphrase", "pwd"),
]


@pytest.mark.parametrize("key", _SECRETS)
def test_spark_redacts_every_key_that_we_take_for_a_secret(key: str) -> None:
    assert names_a_secret(key) or key.startswith(("adls.", "gcs.", "s3."))
    name = f"spark.sql.catalog.lake.{RENAMED.get(key, key)}"
    assert re.search(REDACTED, name)


@pytest.mark.parametrize(
    "key", ["client.region", "s3.endpoint", "warehouse", "header.Polaris-Realm", "scope", "io-impl"]
)
def test_what_is_no_secret_stays_readable(key: str) -> None:
    assert not re.search(REDACTED, f"spark.sql.catalog.lake.{key}")


def test_a_cluster_is_told_its_key_and_its_python_and_shows_neither(settings: Settings) -> None:
    platform = Platform(
        name="standalone",
        mode="classic",
        master="spark://host:7077",
        rpc_secret="hunter2",
        workers=WorkersSettings(archive="/srv/environment.tar.gz"),
    )
    conf = process_conf(settings.model_copy(update={"platform": platform}))
    assert conf["spark.archives"] == "/srv/environment.tar.gz#environment"
    assert workers_python(platform) == "./environment/bin/python"
    assert (conf["spark.authenticate"], conf["spark.network.crypto.enabled"]) == ("true", "true")
    assert conf["spark.authenticate.secret"] == "hunter2"
    assert "hunter2" not in repr(platform)
    own = platform.model_copy(update={"workers": WorkersSettings(python="/opt/lakehouse/bin/python")})
    assert workers_python(own) == "/opt/lakehouse/bin/python"
    assert "spark.archives" not in process_conf(settings.model_copy(update={"platform": own}))
    assert "spark.authenticate" not in process_conf(settings)


def test_the_shipped_cluster_is_read_and_each_of_its_settings_is_for_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_RPC_SECRET", "hunter2")
    platform = load_settings(REPOSITORY / "conf", {"LAKEHOUSE_PLATFORM": "standalone"}).platform
    assert "hunter2" not in repr(platform)
    assert {"spark.driver.port", "spark.executor.cores", "spark.dynamicAllocation.enabled"} <= fixed_conf(
        platform
    ).keys()
