"""Where tables can be set to: what all have sealed, and what was published once."""

from dataclasses import replace

import pytest

from lakehouse.protocol.commit import seal_branch
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.seal import Seal
from lakehouse_tests.steps.maintenance.rollback.conftest import Standing


def test_a_seal_that_was_edited_is_gone_back_from(stream: Standing, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Seal.from_summary.__func__  # type: ignore[attr-defined]

    def edited(cls: type[Seal], summary: dict[str, str], *, where: str) -> Seal | None:
        if summary.get("lakehouse.run_id") == "run-3":
            summary = {**summary, "lakehouse.run_id": "somebody"}
        return real(cls, summary, where=where)

    monkeypatch.setattr(Seal, "from_summary", classmethod(edited))
    assert stream.find("rollback").point.run_id == "run-2"


def test_what_was_staged_and_never_published_is_not_ahead(stream: Standing) -> None:
    step = stream.step("staged")
    for name, base in read_bases(stream.catalog, stream.tables).items():
        assert base.sealed is not None
        seal = replace(base.sealed.seal, attempt=step.attempt.id, run_id="staged", previous=base.sealed.seal.digest)
        seal_branch(stream.catalog, read_bases(stream.catalog, [name])[name], step.attempt, seal)
    assert stream.find("forward").changed == {}
