"""What a person may want to set: how rows are distributed, and how merges write."""

from dataclasses import replace
from typing import Any

import pytest

from lakehouse.declarations import Maintenance, Rewrite
from lakehouse.declarations.storage.file_layout import LayoutFacts, choose
from lakehouse.declarations.storage.measured_layouts import MeasuredAppend
from lakehouse.steps.maintenance.model.state import Cadence, Traits
from lakehouse.steps.maintenance.plan.layout import advise_layout
from lakehouse.steps.maintenance.plan.modes import ModeFacts, advise_mode, recommend
from lakehouse_tests.steps.maintenance.states import MIB, TARGET, decided, part, state

FACTS = LayoutFacts(partitions_per_batch=10, sort_order=False, cores=4, batch_bytes=64 * MIB, target=TARGET)
SOUND = part(files=4, size=TARGET)


@pytest.mark.parametrize(
    ("changes", "mode"),
    [
        ({}, "hash"),
        ({"partitions_per_batch": 0}, "none"),
        ({"partitions_per_batch": 0, "sort_order": True}, "range"),
        ({"partitions_per_batch": 1, "batch_bytes": 400 * MIB}, "none"),
        ({"sort_order": True}, "hash"),
        ({"sort_order": True, "partitions_per_batch": 1, "batch_bytes": 400 * MIB}, "range"),
    ],
)
def test_the_mode_is_chosen_from_what_a_batch_is_like(changes: dict[str, Any], mode: str) -> None:
    assert choose(replace(FACTS, **changes), ()).distribution_mode == mode


def test_a_stream_is_never_distributed_by_range() -> None:
    sorted_ = replace(FACTS, partitions_per_batch=0, sort_order=True)
    assert choose(sorted_, ()).distribution_mode == "range"
    assert choose(sorted_, (), for_stream=True).distribution_mode == "hash"


def test_what_was_measured_decides_whether_files_are_kept_open() -> None:
    def measured(writers: int, seconds: dict[bool, float]) -> list[MeasuredAppend]:
        return [MeasuredAppend(writers, 10, "hash", fanout, 10, time) for fanout, time in seconds.items()]

    near, far = measured(4, {True: 9.0, False: 5.0}), measured(64, {True: 1.0, False: 5.0})
    assert choose(FACTS, [*near, *far]).fanout is False
    assert choose(replace(FACTS, cores=60), [*near, *far]).fanout is True
    assert "with 4 writers and 10 partitions: 9.0 s" in choose(FACTS, near).because
    assert choose(replace(FACTS, partitions_per_batch=4000), ()).fanout is False


def test_advice_is_given_where_the_newest_appends_speak_for_something_else() -> None:
    cadence = Cadence(append_bytes=64 * MIB, append_files=40, append_partitions=10)
    traits = Traits(partitioned=True, properties={"write.distribution-mode": "none"})
    measured = state(SOUND, cadence=cadence, traits=traits)
    [advice] = advise_layout(measured, Maintenance(), 4)
    assert (advice.setting, advice.value) == ("write.distribution-mode", "hash")
    assert "10 files, where 4 writers would make 40" in advice.because
    assert decided(measured).recommendations[0].setting == advice.setting
    assert advise_layout(measured, Maintenance(layout="none"), 4) == ()
    as_it_is = replace(measured, traits=Traits(partitioned=True, properties={"write.distribution-mode": "hash"}))
    assert advise_layout(as_it_is, Maintenance(), 4) == ()


@pytest.mark.parametrize(
    ("size", "partitions", "advised"),
    [
        (200 * MIB, 4, True),  # 2.6 s or 4.5 s
        (MIB, 4, False),
        (200 * MIB, 128, True),  # 6.6 s or 15.3 s
        (200 * MIB, 32, False),  # 4.5 s or 6.7 s
    ],
)
def test_files_are_kept_open_or_not_by_advice_only_where_appends_are_large_and_it_matters(
    size: int, partitions: int, advised: bool
) -> None:
    slower = {4: "false", 32: "true", 128: "true"}[partitions]
    cadence = Cadence(append_bytes=size, append_files=1, append_partitions=partitions)
    properties = {"write.distribution-mode": "none", "write.spark.fanout.enabled": slower}
    measured = state(SOUND, cadence=cadence, traits=Traits(partitioned=True, properties=properties))
    found = advise_layout(measured, Maintenance(rewrite=Rewrite(target_file_size=MIB * 8)), 2)
    assert ("write.spark.fanout.enabled" in [one.setting for one in found]) is advised


@pytest.mark.parametrize(
    ("facts", "mode", "because"),
    [
        (ModeFacts(changed_ratio=0.5), "copy-on-write", "50% of the rows change"),
        (ModeFacts(changed_ratio=0.01, delete_ratio=0.3), "copy-on-write", "30% of the rows in files are deleted"),
        (ModeFacts(changed_ratio=0.1, copied_ratio=0.2), "copy-on-write", "little is lost"),
        (ModeFacts(changed_ratio=0.01, copied_ratio=0.9, readers=9), "copy-on-write", "9 readers"),
        (ModeFacts(changed_ratio=0.01, copied_ratio=0.9), "merge-on-read", "position deletes name those and not copy"),
        (
            ModeFacts(changed_ratio=0.01, copied_ratio=0.9, readers=9, format_version=3),
            "merge-on-read",
            "delete vectors",
        ),
    ],
)
def test_a_mode_is_recommended_and_explained(facts: ModeFacts, mode: str, because: str) -> None:
    found = recommend(facts)
    assert found.mode == mode
    assert because in found.because


def test_a_mirror_chooses_for_itself() -> None:
    merges = Cadence(changed_share=0.01, copied_share=0.9)
    [advice] = advise_mode(state(SOUND, cadence=merges))
    assert (advice.setting, advice.value) == ("write.merge.mode", "merge-on-read")
    assert advise_mode(state(SOUND, cadence=merges, traits=Traits(writer="mirror"))) == ()
    told = Traits(properties={"write.merge.mode": "merge-on-read"})
    assert advise_mode(state(SOUND, cadence=merges, traits=told)) == ()
    assert advise_mode(state(SOUND)) == ()
