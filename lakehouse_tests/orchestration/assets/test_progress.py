"""A silent step says that it is still at work."""

import threading

from lakehouse.orchestration.assets.progress import step_progress

PATIENCE_SECONDS = 60


def test_a_silent_step_repeats_what_it_said_last() -> None:
    lines: list[str] = []
    repeated = threading.Event()

    def log(line: str) -> None:
        lines.append(line)
        if line.startswith("still at work after ") and line.endswith(" s: mirror: 7 changes"):
            repeated.set()

    with step_progress(log, silence=0.001) as inform:
        inform("mirror: 7 changes")
        assert repeated.wait(PATIENCE_SECONDS)

    assert lines.count("mirror: 7 changes") == 1


def test_what_a_step_says_is_passed_on_and_nothing_comes_after_its_end() -> None:
    lines: list[str] = []

    with step_progress(lines.append, silence=3600) as inform:
        inform("planned")
        inform("published")

    assert lines == ["planned", "published"]
    assert not [thread for thread in threading.enumerate() if thread.name == "step-progress"]
