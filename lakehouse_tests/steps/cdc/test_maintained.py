"""A mirror's MERGE meets maintenance: it begins again, instead of failing the run; and not for ever.

Guarded mechanism: the loop around a mirror's step. A MERGE cannot be put on top of files that it has not read.
"""

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from lakehouse.protocol.commit import Replacement, publish, stage_replacement
from lakehouse.protocol.errors import MainMoved, Superseded
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.base import read_bases
from lakehouse.protocol.seals.history import head_of
from lakehouse.steps.cdc.step import MirrorStep, mirror
from lakehouse_tests.steps.cdc.conftest import MakeMirror, Mirrored, upsert

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]


def maintain(things: Mirrored) -> None:
    """Its manifests are regrouped."""
    table, catalog = things.load(), things.feed.catalog
    base = read_bases(catalog, [name := things.tables.mirror.name])[name]
    replacement = Replacement.of_manifests(head_of(table) or 0, target_size=8 * 1024**2)
    publish(catalog, [stage_replacement(catalog, base, Attempt("upkeep", "maintain:mirror.things"), replacement)])


@pytest.mark.soak
def test_a_merge_begins_again(mirrored: MakeMirror, monkeypatch: pytest.MonkeyPatch) -> None:
    things = mirrored()
    things.apply([upsert(n, n + 1, "insert", name="first") for n in range(4)])
    module = sys.modules[mirror.__module__]
    real, left = module.publish, [1]

    def maintained_first(*args: Any, **more: Any) -> Any:
        if left and left.pop():
            maintain(things)
        return real(*args, **more)

    monkeypatch.setattr(module, "publish", maintained_first)
    report = things.apply([upsert(1, 50, name="second")])
    assert report.kind == "mirror"
    assert report.plan
    assert report.plan.strategy != "append"
    assert {key: name for key, (name,) in things.rows("name").items()} == {
        0: "first",
        1: "second",
        2: "first",
        3: "first",
    }
    assert any("once more" in message for message in things.messages)
    things.agree()

    left[:] = [1] * 3
    with pytest.raises(MainMoved):
        things.apply([upsert(1, 60, name="third")])
    assert not left
    things.run()
    assert things.rows("name")[1] == ("third",)


def test_each_try_is_an_attempt_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """The branch of the one before is at an older place. What maintenance is no reason for is not tried again."""
    module, tried, messages = sys.modules[mirror.__module__], list[Attempt](), list[str]()
    tables: Any = SimpleNamespace(mirror=SimpleNamespace(name="mirror.things"))
    nothing: Any = None
    step = MirrorStep(tables, nothing, nothing, Attempt("run", "mirror:things"), inform=messages.append)

    def ends_in(error: Exception) -> None:
        def tries(again: MirrorStep) -> Any:
            tried.append(again.attempt)
            raise error

        monkeypatch.setattr(module, "_mirror", tries)
        with pytest.raises(type(error)):
            mirror(step)

    ends_in(MainMoved("maintenance was quicker", remedy="none"))
    assert len({attempt.id for attempt in tried}) == 3
    assert {(attempt.run_id, attempt.step) for attempt in tried} == {("run", "mirror:things")}
    assert [text.count("once more, on what is there now: maintenance was quicker") for text in messages] == [1, 1]
    tried.clear()
    ends_in(Superseded("another run was quicker", remedy="none"))
    assert len(tried) == 1
