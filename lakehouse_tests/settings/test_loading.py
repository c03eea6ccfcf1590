"""A newcomer edits `conf/`; each mistake is answered with file, key and remedy, and no secret is ever shown."""

import copy
import pickle
import shutil
from pathlib import Path

import pytest
from pydantic import SecretStr, ValidationError

from lakehouse.settings import LateSecret, MaintenanceSettings, SettingsError, load_settings

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    folder = tmp_path / "conf"
    for name in ("platforms", "catalogs"):
        shutil.copytree(REPOSITORY / "conf" / name, folder / name)
    (folder / "kafka").mkdir()
    (folder / "kafka" / "local.yaml").write_text("bootstrap_servers: 127.0.0.1:19092\nlocal: true\nproperties: {}\n")
    shutil.copy(REPOSITORY / "conf" / "lakehouse.yaml", folder)
    return folder


def refusal(conf: Path, environ: dict[str, str] | None = None) -> str:
    with pytest.raises(SettingsError) as caught:
        load_settings(conf, environ or {})
    assert "Remedy: " in str(caught.value)
    assert caught.value.__cause__ is None
    return str(caught.value)


def test_the_shipped_folder_describes_a_laptop(conf: Path) -> None:
    settings = load_settings(conf, {})
    home = conf.parent / ".lakehouse"
    assert settings.conf == conf
    assert settings.state.root == home
    assert (settings.platform.name, settings.platform.mode, settings.platform.master) == (
        "local",
        "classic",
        "local[2]",
    )
    assert settings.platform.conf["spark.ui.enabled"] == "false"
    assert settings.catalog.uri == f"sqlite:///{home}/catalog.db?timeout=30"
    assert settings.catalog.warehouse == f"file://{home}/warehouse"
    assert settings.catalog.name == "lake"
    assert settings.kafka.bootstrap_servers == "127.0.0.1:19092"
    assert settings.kafka.local
    assert settings.ingest.max_bytes_per_run == 2 * 1024**3
    assert settings.maintenance.bytes_per_tick == 2 * 1024**3
    assert settings.declarations == (conf / "declarations",)


def test_a_setting_that_is_gone_has_no_effect_and_is_named_for_one_release(conf: Path) -> None:
    file = conf / "lakehouse.yaml"
    file.write_text(file.read_text().replace("maintenance:\n", "maintenance:\n  seconds_per_tick: 600\n"))
    with pytest.warns(FutureWarning, match="maintenance.seconds_per_tick has no effect.*Remedy: remove it from conf"):
        settings = load_settings(conf, {})
    assert settings.maintenance == MaintenanceSettings()


def test_every_shipped_choice_is_valid(conf: Path) -> None:
    for platform in (REPOSITORY / "conf" / "platforms").glob("*.yaml"):
        for catalog in (REPOSITORY / "conf" / "catalogs").glob("*.yaml"):
            settings = load_settings(conf, {"LAKEHOUSE_PLATFORM": platform.stem, "LAKEHOUSE_CATALOG": catalog.stem})
            assert settings.platform.name == platform.stem


def test_the_conf_folder_may_be_named_by_the_environment(conf: Path) -> None:
    assert load_settings(environ={"LAKEHOUSE_CONF": str(conf)}).conf == conf
    assert "LAKEHOUSE_CONF" in refusal(conf / "elsewhere")


def test_the_environment_overrides_any_key(conf: Path, tmp_path: Path) -> None:
    settings = load_settings(
        conf,
        {
            "LAKEHOUSE_PLATFORM": "connect",
            "LAKEHOUSE_CATALOG": "rest",
            "LAKEHOUSE_HOME": str(tmp_path / "state"),
            "LAKEHOUSE_DECLARATIONS": f"{tmp_path / 'one'}:{tmp_path / 'two'}",
            "LAKEHOUSE__TIMEZONE": "America/New_York",
            "LAKEHOUSE__INGEST__MAX_RECORDS_PER_RUN": "17",
            "LAKEHOUSE__INGEST__MAX_BYTES_PER_RUN": "3 MiB",
            "LAKEHOUSE__CATALOG__URI": "http://127.0.0.1:1",
            "LAKEHOUSE__PLATFORM__CONF__spark.sql.ansi.enabled": "true",
            "LAKEHOUSE__KAFKA__PROPERTIES__sasl.password": "hunter2",
        },
    )
    assert settings.platform.remote == "sc://127.0.0.1:15002"
    assert settings.platform.conf["spark.sql.ansi.enabled"] == "true"
    assert settings.state.root == tmp_path / "state"
    assert settings.timezone == "America/New_York"
    assert settings.ingest.max_records_per_run == 17
    assert settings.ingest.max_bytes_per_run == 3 * 1024**2
    assert settings.catalog.uri == "http://127.0.0.1:1"
    assert settings.declarations == (conf / "declarations", tmp_path / "one", tmp_path / "two")
    assert settings.kafka.properties["sasl.password"] == SecretStr("hunter2")
    assert "hunter2" not in repr(settings)


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("lakehouse.yaml", "platform: mars", "key platform: there is no file of that name"),
        ("lakehouse.yaml", "kafak: local", "key kafak: unknown key"),
        ("lakehouse.yaml", "ingest: 5", "key ingest: should have keys below it"),
        (
            "lakehouse.yaml",
            "ingest: {max_record: 5}",
            "key ingest.max_record: unknown key. Remedy: did you mean max",
        ),
        (
            "lakehouse.yaml",
            "ingest: {max_records_per_run: many}",
            "key ingest.max_records_per_run: Input should be a valid",
        ),
        (
            "lakehouse.yaml",
            "ingest: {max_records_per_run: 0}",
            "key ingest.max_records_per_run: Input should be greater",
        ),
        ("lakehouse.yaml", "ingest: {max_bytes_per_run: 2 parrots}", "key ingest.max_bytes_per_run"),
        ("lakehouse.yaml", "ingest: {max_bytes_per_run: '2 GiB, or 3'}", "Should be a number of bytes, or one with"),
        ("lakehouse.yaml", 'home: "a\\0b"', "key home: should be a text"),
        ("lakehouse.yaml", "maintenance: {every_seconds: 5}", "key maintenance.every_seconds: Input should be greater"),
        ("lakehouse.yaml", "maintenance: {budget: 5}", "key maintenance.budget: unknown key"),
        ("lakehouse.yaml", "timezone: Europe/Atlantis", "key timezone: Should be an IANA time zone"),
        ("lakehouse.yaml", "declarations: {a: b}", "key declarations: should be a list"),
        ("lakehouse.yaml", "home: 5", "key home: should be a text"),
        ("lakehouse.yaml", "- platform", "should hold keys and values"),
        ("lakehouse.yaml", "platform: local\nplatform: connect", "line 2: key platform is given twice"),
        ("lakehouse.yaml", "platform: [", "not YAML"),
        ("platforms/local.yaml", "mode: classic", "Mode classic needs the key master"),
        (
            "platforms/local.yaml",
            "mode: cluster\nmaster: x",
            "key mode: Input should be 'classic', 'connect', 'submit' or 'driver'",
        ),
        ("platforms/local.yaml", "name: x\nmode: classic\nmaster: y", "key name: a platform is named by its file"),
        (
            "platforms/local.yaml",
            "mode: classic\nmaster: '${env:MASTER}'",
            "key master: a secret may only be a value under",
        ),
        ("catalogs/local.yaml", "type: sql\nuri: x", "key warehouse: Field required"),
        (
            "catalogs/local.yaml",
            "type: sql\nuri: x\nwarehouse: 'file:///c#/lake'",
            "key warehouse: An address with # or",
        ),
        ("catalogs/local.yaml", "type: sql\nuri: x\nwarehouse: 's3://b/a?b'", "name a folder (or a home) without them"),
        ("kafka/local.yaml", "bootstrap_servers: [a, b]", "key bootstrap_servers: Input should be a valid string"),
        ("kafka/local.yaml", "bootstrap_servers: a\nproperties: {a: {b: c}}", "key properties.a"),
    ],
)
def test_a_mistake_is_answered_with_file_and_key(conf: Path, file: str, text: str, says: str) -> None:
    (conf / file).write_text(text)
    answer = refusal(conf)
    assert says in answer
    assert str(conf / file) in answer


def test_a_home_that_nobody_could_write_to_is_refused(conf: Path, tmp_path: Path) -> None:
    """PyIceberg would cut its path, and fail at the second file with the words of a file system."""
    assert "key warehouse: An address with # or ?" in refusal(conf, {"LAKEHOUSE_HOME": str(tmp_path / "c#" / "lake")})
    for name in ("with space", "per%20cent", "wäre", "a;b&c=d+e"):
        settings = load_settings(conf, {"LAKEHOUSE_HOME": str(tmp_path / name)})
        assert settings.catalog.warehouse.endswith(f"/{name}/warehouse")


def test_a_missing_file_is_named(conf: Path) -> None:
    (conf / "lakehouse.yaml").unlink()
    assert str(conf / "lakehouse.yaml") in refusal(conf)


def test_an_unknown_override_is_refused_and_named(conf: Path) -> None:
    assert "Environment variable LAKEHOUSE__INGEST__MAX_RECORD" in refusal(conf, {"LAKEHOUSE__INGEST__MAX_RECORD": "5"})
    assert "Environment variable LAKEHOUSE__CAP" in refusal(conf, {"LAKEHOUSE__CAP": "5"})
    assert "LAKEHOUSE__TIMEZONE__X" in refusal(conf, {"LAKEHOUSE__TIMEZONE__X": "5"})


class TestSecrets:
    def write(self, conf: Path, value: str) -> None:
        (conf / "kafka" / "local.yaml").write_text(
            f"bootstrap_servers: a:1\nproperties: {{sasl.password: '{value}'}}\n"
        )

    def test_are_read_when_used(self, conf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.write(conf, "${env:LAKE_PW}-${file:" + str(tmp_path / "pw") + "}")
        secret = load_settings(conf, {}).kafka.properties["sasl.password"]
        assert isinstance(secret, LateSecret)
        monkeypatch.setenv("LAKE_PW", "left")
        (tmp_path / "pw").write_text("right\n")
        assert secret.get_secret_value() == "left-right"
        assert len(secret) == len("left-right")
        assert pickle.loads(pickle.dumps(secret)).get_secret_value() == "left-right"
        assert copy.deepcopy(secret) == secret
        assert b"left" not in pickle.dumps(secret)
        assert "left" not in f"{secret} {secret!r}"

    def test_that_cannot_be_read_are_named_by_file_and_key(self, conf: Path, tmp_path: Path) -> None:
        for reference, says in (("${env:LAKE_NOT_SET}", "LAKE_NOT_SET"), ("${file:/no/such/file}", "/no/such/file")):
            self.write(conf, reference)
            secret = load_settings(conf, {}).kafka.properties["sasl.password"]
            assert isinstance(secret, SecretStr)
            with pytest.raises(SettingsError, match=says) as caught:
                secret.get_secret_value()
            assert f"{conf / 'kafka' / 'local.yaml'}, key properties.sasl.password" in str(caught.value)

    def test_are_refused_in_a_file(self, conf: Path) -> None:
        self.write(conf, "hunter2")
        answer = refusal(conf)
        assert "key properties.sasl.password: a secret must not be written into a file" in answer
        assert "hunter2" not in answer

    @pytest.mark.parametrize(
        "key",
        [
            *("adls.account-key", "adls.connection-string", "adls.sas-token.account.dfs.core.windows.net"),
            *("header.Authorization", "encryption.key", "api_key", "private_key"),
            *("sasl.jaas.config", "sasl.oauthbearer.config"),
        ],
    )
    def test_are_known_by_the_names_that_clouds_and_clients_give_them(self, conf: Path, key: str) -> None:
        (conf / "kafka" / "local.yaml").write_text(f"bootstrap_servers: a:1\nproperties: {{{key}: hunter2}}\n")
        answer = refusal(conf)
        assert f"key properties.{key}: a secret must not be written into a file" in answer
        assert "hunter2" not in answer

    def test_are_no_settings_of_spark_and_no_part_of_an_address(self, conf: Path) -> None:
        for file, text, says in (
            (
                "platforms/local.yaml",
                "mode: classic\nmaster: x\nconf: {spark.hadoop.fs.s3a.secret.key: hunter2}\n",
                "key conf.spark.hadoop.fs.s3a.secret.key: Spark shows its settings",
            ),
            (
                "catalogs/local.yaml",
                "type: sql\nuri: postgresql+psycopg://me:hunter2@host/lake\nwarehouse: s3://b\n",
                "key uri: a password must not be written into a file",
            ),
        ):
            before = (conf / file).read_text()
            (conf / file).write_text(text)
            answer = refusal(conf)
            (conf / file).write_text(before)
            assert says in answer
            assert "hunter2" not in answer
        address = "postgresql+psycopg://me:hunter2@host/lake"
        assert load_settings(conf, {"LAKEHOUSE__CATALOG__URI": address}).catalog.address == address

    def test_are_never_echoed_from_a_wrong_place(self, conf: Path) -> None:
        for text in (
            "bootstrap_servers: a\nlocal: hunter2\n",
            "bootstrap_servers: [hunter2]\n",
            "bootstrap_servers: a\nproperties: hunter2\n",
            "bootstrap_servers: a\npassword: hunter2\n",
            "bootstrap_servers: a: hunter2\n",
            "bootstrap_servers: *hunter2\n",
        ):
            (conf / "kafka" / "local.yaml").write_text(text)
            assert "hunter2" not in refusal(conf)
        assert "hunter2" not in refusal(conf, {"LAKEHOUSE__INGEST__MAX_BYTES_PER_RUN": "1 hunter2"})

    def test_only_lookalikes_are_left_alone(self, conf: Path) -> None:
        (conf / "kafka" / "local.yaml").write_text(
            "bootstrap_servers: a:1\nproperties: {ssl.key.location: /k, sasl.oauthbearer.token.endpoint.url: http://x}\n"
        )
        assert load_settings(conf, {}).kafka.properties["ssl.key.location"] == "/k"


def test_settings_do_not_change_after_loading(conf: Path) -> None:
    settings = load_settings(conf, {})
    with pytest.raises(ValidationError):
        settings.timezone = "UTC"


def declare_parameters(conf: Path, written: str) -> None:
    before, _, _ = (conf / "lakehouse.yaml").read_text().partition("parameters:")
    (conf / "lakehouse.yaml").write_text(f"{before}parameters: {written}\n")


def test_parameters_are_numbers_texts_and_flags_wherever_they_come_from(conf: Path) -> None:
    declare_parameters(conf, "{share: 0.5, zone: east, strict: true}")
    assert load_settings(conf, {}).parameters == {"share": 0.5, "zone": "east", "strict": True}
    assert load_settings(conf, {"LAKEHOUSE__PARAMETERS__SHARE": "0.7"}).parameters["share"] == 0.7


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("{'a b': 1}", "cannot name a parameter"),
        ("{runtime_date: 1}", "cannot name a parameter"),
        ("{api_token: abc}", "names a secret"),
        ("{days: [1, 2]}", "days is no text, number or flag"),
        ("{limit: .inf}", "limit is no finite number"),
        ("{limit: .nan}", "limit is no finite number"),
        ("{limit: 9223372036854775808}", "limit is beyond 64 bits"),
        (r'{zone: "\ud800"}', "zone has half of a character"),
        ("[1]", "keys below it"),
    ],
)
def test_what_cannot_be_a_parameter_is_refused_without_its_value(conf: Path, written: str, expected: str) -> None:
    declare_parameters(conf, written)
    message = refusal(conf)
    assert expected in message
    assert "key parameters" in message
    assert "abc" not in message


@pytest.mark.parametrize(
    "written",
    ["[hunter2", "hunter2: a: b", "@hunter2", "2013-13-45", "{[hunter2]: 1}", "{a: 1, a: hunter2}", "hunter2\x01"],
)
def test_a_text_that_is_not_yaml_is_refused_by_the_place_that_it_stands_in(conf: Path, written: str) -> None:
    declare_parameters(conf, "{share: 0.5}")
    message = refusal(conf, {"LAKEHOUSE__PARAMETERS__SHARE": written})
    assert message.startswith("Environment variable LAKEHOUSE__PARAMETERS__SHARE")
    assert "hunter2" not in message
    assert ".yaml" not in message
    declare_parameters(conf, written)
    message = refusal(conf)
    assert message.startswith(f"{conf / 'lakehouse.yaml'}")
    assert "hunter2" not in message


def test_a_parameter_of_the_environment_is_refused_by_its_variable(conf: Path) -> None:
    declare_parameters(conf, "{share: 0.5}")
    message = refusal(conf, {"LAKEHOUSE__PARAMETERS__SHARE": "[1, 2]"})
    assert message.startswith("Environment variable LAKEHOUSE__PARAMETERS__SHARE: share is no text, number or flag.")


@pytest.mark.parametrize("name", ["KAFKA__BOOTSTRAP_SERVERS", "PLATFORM__MASTER", "CATALOG__WAREHOUSE"])
def test_a_character_that_nobody_sees_is_refused_wherever_it_was_pasted(name: str) -> None:
    conf = Path(__file__).parents[2] / "conf"
    with pytest.raises(SettingsError, match=rf"LAKEHOUSE__{name}.*U\+200B .* at position 3"):
        load_settings(conf, {f"LAKEHOUSE__{name}": "lo\u200bcal"})


def test_ends_of_lines_are_seen() -> None:
    conf = Path(__file__).parents[2] / "conf"
    pem = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
    settings = load_settings(conf, {"LAKEHOUSE__KAFKA__PROPERTIES__SSL_CA_PEM": pem})
    assert settings.kafka.properties["ssl.ca.pem"] == pem
