"""A release's name says its group, its moment and its run, and sorts by time whatever the clock says."""

from lakehouse.steps.release.names import id_of, made_by, moment_of, new_id, tag_of


def test_it_sorts_behind_the_one_before_also_when_the_clock_is_set_back() -> None:
    future = "analytics-21000101000000999-00000000"
    later = new_id("analytics", "run", after=future)
    assert later > future
    assert moment_of(later) == moment_of(future) + 1


def test_a_retry_recognises_what_its_run_has_begun_and_a_group_its_own_tags() -> None:
    made = new_id("analytics", "run")
    assert made_by(made, "run")
    assert not made_by(made, "another run")
    assert id_of(tag_of(made), "analytics") == made
    assert id_of(tag_of(made), "reports") is None
    assert id_of(made, "analytics") is None, "that is no tag"
    assert (moment_of("main"), made_by("main", "run")) == (0, False)


def test_a_tag_that_somebody_made_by_hand_with_no_date_in_it_belongs_to_no_time() -> None:
    assert moment_of("analytics-20269999000000000-abcdef12") == 0
