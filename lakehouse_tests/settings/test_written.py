"""Texts of a file: references stay references, and a secret in plain text is refused by its file and key."""

from pathlib import Path

import pytest

from lakehouse.settings import LateSecret, SettingsError
from lakehouse.settings.document import Document
from lakehouse.settings.written import substituted, without_secret

HOME = Path("/home/of/the/lake")


def document(**content: object) -> Document:
    return Document(Path("conf/catalogs/azure.yaml"), dict(content))


def test_the_home_is_put_in_and_a_reference_stays_one() -> None:
    assert substituted(document(), ("warehouse",), "file://${home}/w", HOME) == f"file://{HOME}/w"
    kept = substituted(document(), ("properties", "credential"), "${env:THERE}", HOME)
    assert isinstance(kept, LateSecret)


def test_a_secret_in_plain_text_is_refused_without_being_repeated() -> None:
    for path, text in ((("properties", "credential"), "id:hunter2"), (("uri",), "postgresql://me:hunter2@host/lake")):
        with pytest.raises(SettingsError, match=f"azure.yaml, key {'.'.join(path)}") as refused:
            substituted(document(), path, text, HOME)
        assert "hunter2" not in str(refused.value)
    with pytest.raises(SettingsError, match="a secret may only be a value under properties"):
        without_secret(document(), ("timezone",), "${env:THERE}")
