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
