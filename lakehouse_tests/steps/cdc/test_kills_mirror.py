"""Kill −9 at every seam of a mirror's step: the next run completes it, nothing is applied twice, and nothing is left.

Guarded mechanisms: work on branches of the attempt's own, one publish for three tables and the lease, and a position
that is nowhere but in the seal.
"""

import signal
from datetime import timedelta
from pathlib import Path

import pytest

from lakehouse.protocol.cleanup.housekeeping import abandoned_branches, drop_branch
from lakehouse.protocol.leases.lease import lease_tag, leases
from lakehouse.settings import Settings
from lakehouse_tests.steps.cdc.conftest import MakeMirror, Mirrored, delete, upsert
from lakehouse_tests.steps.cdc.mirror_child import BUCKETS, MirrorChild

pytestmark = [pytest.mark.spark, pytest.mark.kill, pytest.mark.slow]

FEW = ("mirror.merged",)
ALL = ("mirror.planned", "mirror.merged", "seal.before", "seal.after", "publish.before", "publish.after")


@pytest.mark.timeout(900)
@pytest.mark.parametrize("points", [FEW, pytest.param(ALL, marks=pytest.mark.soak)], ids=["few", "all"])
def test_the_run_after_a_killed_one_completes_it(
    mirrored: MakeMirror, connect_settings: Settings, tmp_path: Path, points: tuple[str, ...]
) -> None:
    """At one seam after the other, on the same mirror: what a killed run left lies about when the next is killed."""
    things = mirrored(partitioning=BUCKETS)
    things.apply([upsert(n, n + 1, "insert", name="first") for n in range(20)])
    expected = dict.fromkeys(range(20), "first")
    for place, point in enumerate(points):
        position, gone, changed, new = 100 * (place + 1), 2 * place, 2 * place + 1, 100 + place
        changes = [upsert(changed, position, name=point), upsert(new, position, "insert", name=point)]
        end = things.feed.append([*changes, delete(gone, position)])
        before, statement = things.heads(), things.agree()
        with MirrorChild(things, connect_settings, tmp_path / "child.log", f"{point}=kill", "killed") as child:
            code, last = child.ended()
        assert code == -signal.SIGKILL, (point, last)
        landed = point == "publish.after"
        after = {key: name for key, name in expected.items() if key != gone} | {changed: point, new: point}
        assert _named(things) == (after if landed else expected), point
        assert (things.heads() == before) is not landed
        assert things.agree().end == (end if landed else statement.end)
        assert leases(things.load("changelog.things")) == {lease_tag("mirror.things"): things.agree().end}

        report = things.run(run_id="next")
        assert (report.kind == "idle") is landed, point
        assert _named(things) == after, point
        assert gone in things.tombstones()
        agreed = things.agree()
        assert (agreed.end, agreed.total_applied.deleted, agreed.changes) == (end, place + 1, 3)
        expected = after
    _housekeeping_leaves_nothing(things)
    assert _named(things) == expected


def _named(things: Mirrored) -> dict[int, str]:
    return {key: name for key, (name,) in things.rows("name").items()}


def _housekeeping_leaves_nothing(things: Mirrored) -> None:
    for table in things.tables.tables:
        for left in abandoned_branches(things.load(table.name), older_than=timedelta(0)):
            drop_branch(things.feed.catalog, left)
        assert list(things.load(table.name).metadata.refs) == ["main"]
