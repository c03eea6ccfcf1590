from pathlib import Path

import pytest

from lakehouse.doctor.catalog import probe_object as module
from lakehouse.doctor.catalog.probe_object import probe_object


def test_what_is_written_is_deleted(tmp_path: Path) -> None:
    (finding,) = probe_object(tmp_path.as_uri(), {})
    assert (finding.state, list(tmp_path.iterdir())) == ("well", [])


def test_a_store_that_lists_nothing_is_named_and_the_object_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_is_listed", lambda *_: False)
    (finding,) = probe_object(tmp_path.as_uri(), {})
    assert "to list it failed" in finding.message
    assert "s3:ListBucket" in finding.remedy
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("nobody_to_aws")
def test_who_is_nobody_lacks_an_identity_and_not_a_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("AWS Error ACCESS_DENIED during HeadObject operation")

    monkeypatch.setattr(module, "load_file_io", refuse)
    (nobody,) = probe_object("s3://lake/w", {})
    assert ("no identity" in nobody.message, "s3:PutObject" in nobody.remedy) == (True, False)
    (known,) = probe_object("s3://lake/w", {"s3.access-key-id": "AKIA"})
    assert "no identity" not in known.message
