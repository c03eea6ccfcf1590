"""Files of `conf/polaris/`: named errors, and no secret in a file."""

from collections.abc import Callable
from pathlib import Path

import pytest

from lakehouse.polaris import PolarisServer, load_polaris, polaris_names
from lakehouse.settings import LateSecret, SettingsError

CONF = Path(__file__).parents[3] / "conf"
PASSWORD = "    properties: {password: s3cret}\n"


def test_the_example_that_comes_along_loads_without_its_secret() -> None:
    server = load_polaris(CONF)
    assert polaris_names(CONF) == ["example"]
    assert sorted(server.catalogs) == ["lake_aws", "lake_azure", "lake_gcp"]
    assert server.principal_roles == ("lake_ingest", "lake_maintenance", "lake_reader", "lake_transform")


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("${env:POLARIS_ADMIN}", "root:s3cret", "key credential: a secret must not be written into a file"),
        (
            "${env:POLARIS_ADMIN}",
            "root:s3cret${env:POLARIS_ADMIN}",
            "key credential: a secret must not be written into",
        ),
        ("${env:POLARIS_ADMIN}", '"${file:/a\\0b}"', "key credential: this value has U+0000"),
        ("lake_aws:\n", f"lake_aws:\n{PASSWORD}", "key catalogs.lake_aws.properties.password: no secret belongs here"),
        ("lake-ingest:\n", f"lake-ingest:\n{PASSWORD}", "lake-ingest.properties.password: no secret belongs here"),
        ("acme-lake\n", "${env:ID}\n", "key catalogs.lake_aws.storage.external_id: no secret belongs here"),
        ("realm: POLARIS", "relam: POLARIS", "key relam: unknown key. Remedy: did you mean realm"),
        ("lake_aws:", "la/ke:", "key catalogs.la/ke"),
        ("type: gcs", "type: gcp", "key catalogs.lake_gcp.storage"),
    ],
)
def test_an_error_names_file_and_key_and_no_value(
    declare: Callable[..., PolarisServer], before: str, after: str, problem: str
) -> None:
    with pytest.raises(SettingsError) as refused:
        declare((before, after))
    assert "example.yaml" in str(refused.value)
    assert problem in str(refused.value)
    assert "s3cret" not in str(refused.value)
    assert refused.value.__cause__ is None
    assert "Remedy: " in str(refused.value)


def test_a_client_id_may_stand_before_the_reference_to_its_secret(
    declare: Callable[..., PolarisServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "s3cret")
    server = declare(("${env:POLARIS_ADMIN}", "root:${env:SECRET}"))
    assert isinstance(server.credential, LateSecret)
    assert server.credential.get_secret_value() == "root:s3cret"


def test_a_file_that_is_not_there_names_those_that_are() -> None:
    with pytest.raises(SettingsError, match=r"There is no file nosuch.yaml in .*Remedy: name one of example"):
        load_polaris(CONF, "nosuch")


def test_of_several_one_is_named(tmp_path: Path) -> None:
    (tmp_path / "polaris").mkdir()
    with pytest.raises(SettingsError, match=r"name one of \(none yet\)"):
        load_polaris(tmp_path)
    for name in ("a", "b"):
        (tmp_path / "polaris" / f"{name}.yaml").write_text("uri: https://x\ncredential: ${env:X}\n")
    with pytest.raises(SettingsError, match="name one of a, b"):
        load_polaris(tmp_path)
    assert load_polaris(tmp_path, "a").uri == "https://x"
