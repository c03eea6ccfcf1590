"""A failpoint does nothing until it is armed, and nothing for a name that is not its own."""

from pathlib import Path

import pytest

from lakehouse.protocol.failpoints import InjectedFault, failpoint


def test_only_the_armed_place_does_something(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    failpoint("publish.before")
    go_on = tmp_path / "go-on"
    go_on.touch()
    monkeypatch.setenv("LAKEHOUSE_FAILPOINTS", f"publish.before=fail;seal.after=hold:{go_on};seal.before=sing")
    failpoint("publish.after")
    with pytest.raises(InjectedFault, match=r"publish\.before"):
        failpoint("publish.before")
    failpoint("seal.after")
    assert Path(f"{go_on}.reached").exists()
    with pytest.raises(ValueError, match=r"unknown action 'sing' for seal\.before"):
        failpoint("seal.before")
