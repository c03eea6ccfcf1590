"""What a run's tags allow maintenance: whole plans by their digest, and operations by their name."""

import pytest
from dagster import DagsterRun

from lakehouse.orchestration.maintenance_tags import MaintenanceTagInvalid, approvals_of, requested_operations
from lakehouse.orchestration.run_context import ALLOW_TAG, OPERATIONS_TAG
from lakehouse.steps.maintenance.model.action import Operation


def test_without_the_tag_every_operation_is_asked_for() -> None:
    assert requested_operations(DagsterRun(job_name="j")) == tuple(Operation)


def test_operations_are_named_with_commas() -> None:
    run = DagsterRun(job_name="j", tags={OPERATIONS_TAG: "rewrite, expire"})
    assert requested_operations(run) == (Operation.REWRITE, Operation.EXPIRE)


def test_an_unknown_operation_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(MaintenanceTagInvalid, match=r"is 'rewrite,vacuum'\..*expire"):
        requested_operations(DagsterRun(job_name="j", tags={OPERATIONS_TAG: "rewrite,vacuum"}))


@pytest.mark.parametrize("value", ["true", "false", "", "ABCDEF0123456789ABCDEF0123456789", "0" * 31, "0" * 32 + ","])
def test_a_word_is_no_approval(value: str) -> None:
    with pytest.raises(MaintenanceTagInvalid, match="which is no digest of a plan"):
        approvals_of(DagsterRun(job_name="j", tags={ALLOW_TAG: value}))


def test_approvals_of_several_tables_are_one_tag() -> None:
    given = f"{'0' * 32}, {'a' * 32}"
    assert approvals_of(DagsterRun(job_name="j", tags={ALLOW_TAG: given})) == {"0" * 32, "a" * 32}
    assert approvals_of(DagsterRun(job_name="j")) == frozenset()
