"""Drivers that a service runs for us: sections of a platform's file whose mode is `submit`."""

from typing import Literal

from pydantic import Field

from lakehouse.settings.models.section import Section

_NAME = r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"
_ROLE = r"^arn:aws[a-z-]*:iam::\d{12}:role/[\w+=,.@/-]+$"
_OBJECT = r"^s3://[^\s/]+/\S+$"


class RemoteDriver(Section):
    """What every such driver finds on its machine."""

    conf: str
    home: str = "/tmp/lakehouse"  # noqa: S108 - of the driver's own machine, which ends with it
    logs: str | None = Field(default=None, pattern=r"^https://\S+$")


class KubernetesSettings(RemoteDriver):
    """Jobs of Apache's operator for Spark: `kubernetes` in a platform's file.

    Attributes:
        conf: the folder of settings, on the driver's machine.
        home: its folder of local state; it ends with the driver.
        program: `lakehouse/remote_step/__main__.py` there.
        logs: the address of a job's logs, with `{job}` for its name; without it, the command of `kubectl`.
        image: of driver and executors.
        namespace: where the objects are made.
        service_account: of the driver, which makes its executors.
        context: of the kubeconfig; without it the current one, and within a cluster the pod's own account.
        secrets: names of secrets whose keys become variables of the driver.
    """

    conf: str = "/opt/lakehouse/conf"
    program: str = "local:///opt/lakehouse/remote_step.py"
    image: str = Field(min_length=1)
    namespace: str = Field(default="lakehouse", pattern=_NAME)
    service_account: str = Field(default="spark", pattern=_NAME)
    context: str | None = None
    secrets: tuple[str, ...] = ()


class EmrServerlessSettings(RemoteDriver):
    """Jobs of Amazon EMR Serverless: `emr_serverless` in a platform's file.

    Attributes:
        conf: the folder of settings, on the driver's machine.
        home: its folder of local state; it ends with the driver.
        program: `lakehouse/remote_step/__main__.py`, as an object of S3.
        archive: the packed environment, as an object of S3.
        logs: the address of a job's logs, with `{job}` for its id; without it, the folder below `log_location`.
        application: its id.
        role: the ARN that the job runs as.
        region: of the application; without it the one of the environment.
        log_location: a folder of S3 for the logs of driver and executors.
        timeout_minutes: after which the service itself ends a job.
    """

    conf: str = "./environment/conf"
    program: str = Field(pattern=_OBJECT)
    archive: str = Field(pattern=_OBJECT)
    application: str = Field(pattern=r"^[0-9a-z]{1,64}$")
    role: str = Field(pattern=_ROLE)
    region: str | None = None
    log_location: str | None = Field(default=None, pattern=r"^s3://\S+$")
    timeout_minutes: int = Field(default=720, ge=5)


class GlueSettings(RemoteDriver):
    """Runs of an AWS Glue job: `glue` in a platform's file.

    Attributes:
        conf: the folder of settings, on the driver's machine; the job has to bring it.
        home: its folder of local state; it ends with the driver.
        logs: the address of a run's logs, with `{job}` for its id; without it, the one of CloudWatch.
        job: the name of the job, which has the role, the script and the version of Glue.
        region: of the job; without it the one of the environment.
        worker_type: of Glue.
        number_of_workers: the driver is one of them.
        timeout_minutes: after which the service itself ends a run.
        execution_class: `FLEX` waits for spare capacity.
    """

    job: str = Field(pattern=r"^[A-Za-z0-9_. -]+$", max_length=255)
    region: str | None = None
    worker_type: Literal["G.1X", "G.2X", "G.4X", "G.8X"] = "G.1X"
    number_of_workers: int = Field(default=3, ge=2)
    timeout_minutes: int = Field(default=720, ge=1)
    execution_class: Literal["STANDARD", "FLEX"] = "STANDARD"
