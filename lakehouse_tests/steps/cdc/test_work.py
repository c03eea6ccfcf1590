"""What a planned step builds on: what the seals say, or nothing where all is folded anew."""

from typing import Any, cast

from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.steps.cdc.fold.scope import SealedFold
from lakehouse.steps.cdc.statement import MirrorStatement
from lakehouse.steps.cdc.work import MirrorWork

KNOWN = MirrorStatement(
    changelog="changelog.things",
    changelog_uuid="u",
    build="b",
    start=None,
    end=1,
    low_watermark_us=7,
    behind=("name",),
)


def work(previous: MirrorStatement | None, *, rebuild: bool = False) -> MirrorWork:
    return MirrorWork(cast("Any", None), cast("Any", None), Attempt("r", "mirror"), {}, previous, rebuild=rebuild)


def test_a_step_builds_on_what_is_sealed() -> None:
    assert work(KNOWN).continued is KNOWN
    assert work(KNOWN).memory == SealedFold(None, 7, frozenset({"name"}), None)


def test_a_first_run_and_a_rebuild_remember_nothing() -> None:
    for planned in (work(None), work(KNOWN, rebuild=True)):
        assert planned.continued is None
        assert planned.memory == SealedFold()
