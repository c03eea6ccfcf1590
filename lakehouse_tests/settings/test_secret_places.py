"""A secret may be referred to where it is needed, and may stand nowhere."""

from pathlib import Path

import pytest

from lakehouse.settings.document import Document
from lakehouse.settings.error import SettingsError
from lakehouse.settings.secret import LateSecret
from lakehouse.settings.secret_places import substituted, without_secret

DOCUMENT = Document(Path("kafka.yaml"), {})
PASSWORD = ("properties", "sasl.password")


def test_the_folder_of_the_state_is_filled_in(tmp_path: Path) -> None:
    assert substituted(DOCUMENT, ("warehouse",), "${home}/tables", tmp_path) == f"{tmp_path}/tables"


@pytest.mark.parametrize("path", [PASSWORD, ("uri",), ("remote",), ("rpc_secret",)])
def test_a_reference_stays_one_where_a_secret_may_be(path: tuple[str, ...], tmp_path: Path) -> None:
    assert isinstance(substituted(DOCUMENT, path, "${env:PASSWORD}", tmp_path), LateSecret)


def test_a_secret_in_the_file_is_refused_and_not_shown(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"kafka.yaml, key properties.sasl.password: a secret must not") as refusal:
        substituted(DOCUMENT, PASSWORD, "hunter2", tmp_path)
    assert "hunter2" not in str(refusal.value)


@pytest.mark.parametrize("path", [("name",), ("conf", "spark.some.password"), ("properties", "nested", "password")])
def test_a_reference_anywhere_else_is_refused(path: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"no place for a secret|may only be a value under properties"):
        substituted(DOCUMENT, path, "${env:PASSWORD}", tmp_path)


def test_what_nobody_sees_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"this value has .*U\+200B"):
        substituted(DOCUMENT, ("warehouse",), "tables\u200b", tmp_path)


def test_a_text_without_a_secret_stays_as_it_is() -> None:
    assert without_secret(DOCUMENT, ("conf", "spark.ui.port"), "4040") == "4040"
