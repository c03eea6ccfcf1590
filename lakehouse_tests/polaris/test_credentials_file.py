"""The file of credentials: nobody else may read it, and nothing in it is lost."""

import stat
import subprocess
from pathlib import Path

import pytest

from lakehouse.polaris import CredentialsFile, CredentialsNotKept
from lakehouse.polaris.credentials_file import variable_of


def test_variables_are_those_of_a_shell() -> None:
    assert variable_of("lake-ingest") == "LAKE_INGEST_CREDENTIAL"
    assert variable_of("4 ever") == "P_4_EVER_CREDENTIAL"


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    file = CredentialsFile(tmp_path / "secrets")
    file.keep("lake-ingest", "id:s3cret")
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["secrets"]


def test_a_shell_reads_it(tmp_path: Path) -> None:
    CredentialsFile(tmp_path / "secrets").keep("lake-ingest", "id:s3'cr$et ")
    shown = subprocess.run(
        ["sh", "-c", f'. {tmp_path}/secrets; printf %s "$LAKE_INGEST_CREDENTIAL"'], capture_output=True, check=True
    )
    assert shown.stdout == b"id:s3'cr$et "


def test_what_it_has_stays(tmp_path: Path) -> None:
    CredentialsFile(tmp_path / "secrets").keep("a", "a:1")
    again = CredentialsFile(tmp_path / "secrets")
    again.keep("b", "b:2")
    assert (again.credential("a"), "c" in again) == ("a:1", False)
    with pytest.raises(CredentialsNotKept, match="has no C_CREDENTIAL"):
        again.credential("c")


def test_a_file_that_others_may_read_is_refused_unread(tmp_path: Path) -> None:
    file = tmp_path / "secrets"
    file.write_text("A_CREDENTIAL=a:1\n")
    file.chmod(0o640)
    with pytest.raises(CredentialsNotKept, match=r"Others may read .* \(mode 640\). Remedy: chmod 600"):
        CredentialsFile(file)
    assert file.read_text() == "A_CREDENTIAL=a:1\n"


def test_no_other_file_is_overwritten(tmp_path: Path) -> None:
    file = tmp_path / "notes"
    file.write_text("Dear diary\n")
    file.chmod(0o600)
    with pytest.raises(CredentialsNotKept, match="notes holds something else than the credentials"):
        CredentialsFile(file)
    link = tmp_path / "link"
    link.symlink_to(file)
    for path in (link, tmp_path):
        with pytest.raises(CredentialsNotKept, match="is no file of its own"):
            CredentialsFile(path)
    assert file.read_text() == "Dear diary\n"


@pytest.mark.parametrize("content", [b"A_CREDENTIAL='a:1\n", b"\xff\xfe", b"A_CREDENTIAL=a:1 other\n"])
def test_what_is_no_file_of_credentials_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "notes"
    file.write_bytes(content)
    file.chmod(0o600)
    with pytest.raises(CredentialsNotKept, match="notes holds something else than the credentials"):
        CredentialsFile(file)
    assert file.read_bytes() == content


def test_a_credential_of_several_lines_is_kept_whole(tmp_path: Path) -> None:
    CredentialsFile(tmp_path / "secrets").keep("a", "a:1\n2='3")
    assert CredentialsFile(tmp_path / "secrets").credential("a") == "a:1\n2='3"


def test_two_who_write_to_it_lose_nothing(tmp_path: Path) -> None:
    first, second = CredentialsFile(tmp_path / "secrets"), CredentialsFile(tmp_path / "secrets")
    first.keep("a", "a:1")
    second.keep("b", "b:2")
    assert [CredentialsFile(tmp_path / "secrets").credential(name) for name in "ab"] == ["a:1", "b:2"]


def test_two_principals_share_no_variable(tmp_path: Path) -> None:
    with pytest.raises(CredentialsNotKept, match="lake-a and lake_a would share the variable LAKE_A_CREDENTIAL"):
        CredentialsFile(tmp_path / "secrets", ["lake-a", "lake_a"])
