"""Changes that are refused for coming too late, where they are many: a mirror that takes no new rows is no mirror.

Guarded mechanism: the newest seals are asked how many changes of unknown keys were refused, and how many were taken.
"""

from typing import Any, cast

import dagster as dg
import pytest

from lakehouse.declarations import DeclarationError, Mirror
from lakehouse.orchestration.checks.mirror.ordering import order_result
from lakehouse.protocol.seals.attempt import Attempt
from lakehouse.protocol.seals.history import Sealed
from lakehouse.protocol.seals.seal import Seal
from lakehouse.steps.cdc.evidence import MirrorLink
from lakehouse.steps.cdc.statement import Applied, MirrorStatement
from lakehouse.steps.cdc.verify.late_share import LateShare, late_share
from lakehouse.steps.cdc.verify.ordering import OrderProof


def link(inserted: int, too_late: int, *, build: str = "b", kind: str = "mirror") -> MirrorLink:
    statement = MirrorStatement("log", "u", build, None, 1, applied=Applied(inserted=inserted, too_late=too_late))
    seal = Seal.of(Attempt("run", "mirror"), kind, statement=statement.to_keys(), previous=None)
    return MirrorLink(Sealed(1, 0, seal), statement)


def judged(*links: MirrorLink, allowed: float = 0.01) -> LateShare:
    return late_share(links, allowed)


def test_many_changes_that_came_too_late_fail_the_check() -> None:
    share = judged(link(1_000_000, 0), link(980, 0), link(0, 30))
    result = order_result(OrderProof(late=share), dg.AssetKey("things"))
    assert not result.passed
    assert result.severity == dg.AssetCheckSeverity.ERROR
    assert result.description == (
        "30 changes were refused as too late by the newest 2 runs, which inserted 980 rows (3.0% refused, 1.0% "
        "allowed): a clock was ahead, or the declared `lateness` is too short. A rebuild takes them in."
    )


@pytest.mark.parametrize(
    ("links", "holds"),
    [
        ([], True),
        ([link(10, 0)], True),
        ([link(0, 4)], True),
        ([link(0, 5)], False),
        ([link(994, 5)], True),
        ([link(400, 5), link(90, 0)], False),
        # What came right before these runs does not hide what they refuse,
        ([link(1_000_000, 0), link(1000, 50)], False),
        # a rebuild begins anew, and maintenance repeats what was sealed.
        ([link(0, 50, build="a"), link(50, 0)], True),
        ([link(1000, 9), *[link(0, 4, kind="maintenance")] * 3], True),
    ],
)
def test_the_newest_runs_of_a_build_decide(links: list[MirrorLink], holds: bool) -> None:
    assert judged(*links).holds == holds


def test_the_share_is_declared() -> None:
    assert judged(link(50, 50), allowed=0.5).holds
    with pytest.raises(DeclarationError, match="max_late_share is 2"):
        Mirror(name="mirror.things", changelog=cast("Any", "changelog.things"), max_late_share=2)
