"""Advice on how merges write, by what the newest ones changed and copied."""

import pytest

from lakehouse.steps.maintenance.model.state import Cadence, Traits
from lakehouse.steps.maintenance.plan.modes import ModeFacts, advise_mode, recommend
from lakehouse_tests.steps.maintenance.states import TARGET, part, state

SOUND = part(files=4, size=TARGET)


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
    recommendation = recommend(facts)
    assert recommendation.mode == mode
    assert because in recommendation.because


def test_a_mirror_chooses_for_itself() -> None:
    merges = Cadence(changed_share=0.01, copied_share=0.9)
    [advice] = advise_mode(state(SOUND, cadence=merges))
    assert (advice.setting, advice.value) == ("write.merge.mode", "merge-on-read")
    assert advise_mode(state(SOUND, cadence=merges, traits=Traits(writer="mirror"))) == ()
    traits = Traits(properties={"write.merge.mode": "merge-on-read"})
    assert advise_mode(state(SOUND, cadence=merges, traits=traits)) == ()
    assert advise_mode(state(SOUND)) == ()
