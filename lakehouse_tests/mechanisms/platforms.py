"""What keeps a step that is done elsewhere from being done twice, for ever, or by other code."""

from contextlib import nullcontext

from lakehouse.engines.submit.driver_job import DriverJob
from lakehouse_tests.mechanisms.mechanism import Mechanism, answers, gives


def _another_try(job: DriverJob) -> DriverJob:
    folder = job.folder.with_name("9")
    folder.mkdir(exist_ok=True)
    return DriverJob(job.token, folder)


_REGISTRATION = "engines/spark/test_registration.py::"
_REMOTE = "orchestration/remote/test_asset.py::"
PLATFORMS = (
    Mechanism(
        name="the driver of a retry",
        promise="P1: A retry launches a second driver beside the one that is at work on the same records.",
        keeps="lakehouse.engines.submit.driver_job:driver_job",
        lets_pass=answers(_another_try),
        guard="engines/submit/test_driver_job.py::test_a_retry_finds_the_driver_that_it_has_launched",
    ),
    Mechanism(
        name="the driver of a cancelled run",
        promise="P5: A run that was cancelled goes on elsewhere, and publishes.",
        keeps="lakehouse.engines.submit.driver_job:DriverJob.end",
        lets_pass=gives(False),
        guard=_REMOTE + "test_a_cancelled_run_ends_its_driver",
    ),
    Mechanism(
        name="abandoned drivers",
        promise="P1: What a killed run has left does the same step as its successor, and one of them in vain.",
        keeps="lakehouse.engines.submit.driver_job:end_abandoned",
        lets_pass=gives([]),
        guard="engines/submit/test_driver_job.py::test_only_what_nobody_waits_for_is_abandoned",
    ),
    Mechanism(
        name="a driver without an end",
        promise="P1: A driver that was killed counts as one that has done its step.",
        keeps="lakehouse.orchestration.remote.asset:_require_success",
        lets_pass=gives(None),
        guard=_REMOTE + "test_a_driver_that_was_killed_is_named_and_the_next_try_launches_another",
    ),
    Mechanism(
        name="registered in time",
        promise="P5: A master that takes the connection and never registers the driver holds a run for ever.",
        keeps="lakehouse.engines.spark.registration:registered_in_time",
        lets_pass=lambda original: lambda platform, end_driver: nullcontext(),
        guard=_REGISTRATION + "test_a_master_that_never_registers_the_driver_is_named_and_the_jvm_ended",
    ),
    Mechanism(
        name="a free worker in time",
        promise="P5: A cluster without a free worker holds a run for ever, and says nothing.",
        keeps="lakehouse.engines.spark.registration:require_executor",
        lets_pass=gives(None),
        guard=_REGISTRATION + "test_a_cluster_without_a_free_worker_is_named_and_the_job_cancelled",
    ),
    Mechanism(
        name="workers as the driver",
        promise="P1: Workers with other packages or other code write files that the driver did not plan.",
        keeps="lakehouse.engines.spark.worker_environment:differences",
        lets_pass=gives([]),
        guard="engines/spark/test_worker_environment.py::test_each_difference_is_named_with_both_sides",
    ),
)
