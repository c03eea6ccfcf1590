"""Advice on how rows are distributed to files, where the newest appends speak for something else."""

from dataclasses import replace

import pytest

from lakehouse.declarations import Maintenance, Rewrite
from lakehouse.steps.maintenance.model.state import Cadence, Traits
from lakehouse.steps.maintenance.plan.layout import advise_layout
from lakehouse_tests.steps.maintenance.states import MIB, TARGET, decided, part, state

SOUND = part(files=4, size=TARGET)


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
    recommendations = advise_layout(measured, Maintenance(rewrite=Rewrite(target_file_size=MIB * 8)), 2)
    assert ("write.spark.fanout.enabled" in [recommendation.setting for recommendation in recommendations]) is advised
