"""What keeps a step that is done elsewhere from being done twice, for ever, or by other code."""

from contextlib import nullcontext

from lakehouse_tests.mechanisms.mechanism import Mechanism, gives

_REGISTRATION = "engines/spark/test_registration.py::"
_REMOTE = "orchestration/remote/test_asset.py::"
_SUBMIT = "engines/submit/"
PLATFORMS = (
    Mechanism(
        name="the driver of a retry",
        promise="P1: A retry launches a second driver beside the one that is at work on the same records.",
        keeps="lakehouse.engines.submit.spark_submit:SparkSubmitJobs.find",
        lets_pass=gives(None),
        guard=_REMOTE + "test_a_driver_that_a_killed_dagster_has_left_is_found[at work]",
    ),
    Mechanism(
        name="the pods of a retry",
        promise="P1: A retry makes a second SparkApplication beside the one that is at work.",
        keeps="lakehouse.engines.submit.kubernetes.jobs:KubernetesJobs.find",
        lets_pass=gives(None),
        guard=_SUBMIT + "kubernetes/test_jobs.py::test_a_retry_finds_the_application_that_it_made",
    ),
    Mechanism(
        name="the job run of a retry",
        promise="P1: A retry starts a second job run of EMR Serverless beside the one that is at work.",
        keeps="lakehouse.engines.submit.aws.emr_serverless:EmrServerlessJobs.find",
        lets_pass=gives(None),
        guard=_SUBMIT + "aws/test_emr_serverless.py::test_a_retry_finds_the_job_on_any_page",
    ),
    Mechanism(
        name="the Glue run of a retry",
        promise="P1: A retry starts a second run of a Glue job beside the one that is at work.",
        keeps="lakehouse.engines.submit.aws.glue:GlueJobs.find",
        lets_pass=gives(None),
        guard=_SUBMIT + "aws/test_glue.py::test_a_retry_finds_the_run_and_starts_no_other",
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
        keeps="lakehouse.orchestration.remote.asset:_end_abandoned",
        lets_pass=gives(None),
        guard=_REMOTE + "test_what_another_run_has_left_is_ended",
    ),
    Mechanism(
        name="a driver without an end",
        promise="P1: A driver that was killed counts as one that has done its step.",
        keeps="lakehouse.orchestration.remote.watched_job:WatchedJob.require_success",
        lets_pass=gives(None),
        guard=_REMOTE + "test_a_driver_that_was_killed_is_named_and_the_next_try_launches_another",
    ),
    Mechanism(
        name="the service's Spark",
        promise="P1: A service that brings another Spark runs our code, and what comes of it nobody has tried.",
        keeps="lakehouse.remote_step.__main__:_another_spark",
        lets_pass=gives(""),
        guard="remote_step/test_another_spark.py::test_another_spark_is_named",
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
