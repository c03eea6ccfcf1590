"""Texts of a file: references stay references, and a secret in plain text is refused by its file and key."""

from pathlib import Path

import pytest

from lakehouse.settings import LateSecret, SettingsError
from lakehouse.settings.document import Document
from lakehouse.settings.written import substituted, without_secret


def document(**content: object) -> Document:
    return Document(Path("conf/catalogs/azure.yaml"), dict(content))


def test_the_home_is_put_in_and_a_reference_stays_one(tmp_path: Path) -> None:
    assert substituted(document(), ("warehouse",), "file://${home}/w", tmp_path) == f"file://{tmp_path}/w"
    kept = substituted(document(), ("properties", "credential"), "${env:THERE}", tmp_path)
    assert isinstance(kept, LateSecret)


def test_a_secret_in_plain_text_is_refused_without_being_repeated(tmp_path: Path) -> None:
    for path, text in (
        (("properties", "credential"), "id:hunter2"),
        (("properties", "credential"), "id:hunter2${env:THERE}"),
        (("properties", "clientSecret"), "hunter2"),
        (("uri",), "postgresql://me:hunter2@host/lake"),
        (("uri",), "postgresql://me:hunter2/@host/lake"),
    ):
        with pytest.raises(SettingsError, match=f"azure.yaml, key {'.'.join(path)}") as refused:
            substituted(document(), path, text, tmp_path)
        assert "hunter2" not in str(refused.value)
    with pytest.raises(SettingsError, match="a secret may only be a value under properties"):
        without_secret(document(), ("timezone",), "${env:THERE}")


@pytest.mark.parametrize("path", [("name",), ("conf", "spark.some.password"), ("properties", "nested", "password")])
def test_a_reference_where_no_secret_may_be_is_refused(path: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"no place for a secret|may only be a value under properties"):
        substituted(document(), path, "${env:PASSWORD}", tmp_path)


@pytest.mark.parametrize("path", [("uri",), ("remote",), ("rpc_secret",)])
def test_a_reference_stays_one_beside_the_properties(path: tuple[str, ...], tmp_path: Path) -> None:
    assert isinstance(substituted(document(), path, "${env:PASSWORD}", tmp_path), LateSecret)


def test_a_character_that_nobody_sees_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"this value has .*U\+200B"):
        substituted(document(), ("warehouse",), "tables\u200b", tmp_path)


def test_a_text_without_a_secret_stays_as_it_is() -> None:
    assert without_secret(document(), ("conf", "spark.ui.port"), "4040") == "4040"
