"""New secrets: rotated by the principal itself, so that runs go on; reset by the root, so that they do not."""

from pathlib import Path

import pytest

from lakehouse.polaris import CredentialsFile, CredentialsNotKept, PolarisApi, PolarisNotApplied, PolarisRefused
from lakehouse.polaris.declared.server import PolarisServer
from lakehouse.polaris.rotation import require_there, reset_credentials, rotate_credentials
from lakehouse_tests.polaris.played_server import PlayedPolaris


def accepts(played: PlayedPolaris, credential: str) -> bool:
    client, _, secret = credential.partition(":")
    return any(client == known and secret in secrets for known, secrets in played.secrets.values())


def test_the_secret_before_goes_on_for_one_more_rotation(
    applied: PlayedPolaris, server: PolarisServer, tmp_path: Path
) -> None:
    kept = CredentialsFile(tmp_path / "secrets")
    first = kept.credential("lake-ingest")
    rotate_credentials(server, "lake-ingest", kept)
    second = CredentialsFile(tmp_path / "secrets").credential("lake-ingest")
    assert first != second
    assert accepts(applied, first)
    assert accepts(applied, second)
    rotate_credentials(server, "lake-ingest", kept)
    assert not accepts(applied, first)
    assert accepts(applied, second)


def test_nobody_else_rotates_it(applied: PlayedPolaris, server: PolarisServer, tmp_path: Path) -> None:
    kept = CredentialsFile(tmp_path / "secrets")
    kept.keep("lake-ingest", kept.credential("lake-reader"))
    with pytest.raises(PolarisRefused, match="not authorized"):
        rotate_credentials(server, "lake-ingest", kept)
    with pytest.raises(CredentialsNotKept, match="has no LAKE_INGEST_CREDENTIAL"):
        rotate_credentials(server, "lake-ingest", CredentialsFile(tmp_path / "other"))


def test_reset_ends_the_one_before_at_once(
    applied: PlayedPolaris, api: PolarisApi, server: PolarisServer, tmp_path: Path
) -> None:
    before = CredentialsFile(tmp_path / "secrets").credential("lake-ingest")
    new = CredentialsFile(tmp_path / "new")
    reset_credentials(api, server, "lake-ingest", new)
    assert not accepts(applied, before)
    assert accepts(applied, new.credential("lake-ingest"))


def test_only_what_is_declared_is_touched(
    applied: PlayedPolaris, api: PolarisApi, server: PolarisServer, tmp_path: Path
) -> None:
    with pytest.raises(PolarisNotApplied, match=r"There is no principal root in the file"):
        reset_credentials(api, server, "root", CredentialsFile(tmp_path / "new"))


def test_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(CredentialsNotKept, match=r"There is no file .*secrets.*--reset"):
        require_there(tmp_path / "secrets")
