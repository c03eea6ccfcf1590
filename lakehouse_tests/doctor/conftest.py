"""An environment of which no cloud knows anything."""

import os
from pathlib import Path

import pytest


@pytest.fixture
def nobody_to_aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No keys, no profile, and no machine that has a role."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "BOTO_CONFIG"):
        monkeypatch.setenv(name, str(tmp_path / "nosuch"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
