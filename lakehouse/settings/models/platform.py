"""Where Spark runs: a file of `conf/platforms/`."""

from typing import Literal, Self

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from lakehouse.settings.models.remote_drivers import EmrServerlessSettings, GlueSettings, KubernetesSettings
from lakehouse.settings.models.section import Property, Section
from lakehouse.settings.plain_secret import hidden
from lakehouse.settings.secret import revealed


class WorkersSettings(Section):
    """Python on workers of other machines: `workers` in a platform's file.

    Attributes:
        python: the interpreter's path there, of an environment that the platform has.
        archive: a packed environment (`.tar.gz`, `.zip`) with `bin/python`: a path here, or an address that the
            executors reach. Each executor unpacks it for itself.
    """

    python: str | None = Field(default=None, pattern=r"^[^\s;|&]+$")
    archive: str | None = Field(default=None, pattern=r"^[^#,\s]+\.(tar\.gz|tgz|zip)$")

    @model_validator(mode="after")
    def _is_unambiguous(self) -> Self:
        if (self.python is None) == (self.archive is None):
            raise PydanticCustomError("one_python", "Either python or archive")
        return self


class Platform(Section):
    """Where Spark runs: a file of `conf/platforms/`.

    Attributes:
        name: the file's name.
        mode: `classic` starts Spark in this process, `connect` talks to a Spark Connect server, `submit` has each step
            done by a driver of its own: by `spark-submit` where there is a `master`, else by one of the services below.
            `driver` is for a process that `spark-submit` has started: Spark is there already.
        master: for classic, and for a Connect server that we start ourselves.
        remote: the Connect server's address, `sc://host:port`; references to secrets are allowed in it.
        conf: Spark configuration, passed as it is.
        stop_timeout_seconds: how long a session may take to stop before it is abandoned.
        register_within_seconds: how long a standalone master may take to register a driver, and then to give it an
            executor.
        rpc_secret: the key of a cluster whose processes know each other by one (`spark.authenticate.secret`): a
            reference to a secret. With it goes encryption of their connections.
        workers: Python on workers of other machines. Its keys are below. Without it they use `python3` of their path.
        messages: for the services: a folder in an object store, or one that is mounted everywhere, for what steps are
            asked and what they report.
        kubernetes: each step is a SparkApplication of Apache's operator. Its keys are below.
        emr_serverless: each step is a job run of Amazon EMR Serverless. Its keys are below.
        glue: each step is a run of an AWS Glue job. Its keys are below.
    """

    name: str
    mode: Literal["classic", "connect", "submit", "driver"]
    master: str | None = None
    remote: Property | None = None
    conf: dict[str, str] = {}
    stop_timeout_seconds: float = Field(default=10, gt=0)
    register_within_seconds: float = Field(default=30, gt=0)
    rpc_secret: Property | None = None
    workers: WorkersSettings | None = None
    messages: str | None = Field(default=None, pattern=r"^(/|[a-z][a-z0-9]+://)\S+$")
    kubernetes: KubernetesSettings | None = None
    emr_serverless: EmrServerlessSettings | None = None
    glue: GlueSettings | None = None

    @model_validator(mode="after")
    def _has_a_cluster(self) -> Self:
        """What only a cluster of ours to start on can be given is refused elsewhere, and kinds that are not built."""
        master = self.master or "local"
        if master.startswith(("k8s://", "yarn")):
            raise PydanticCustomError(
                "no_such_master",
                "A master is local[…] or spark://host:port; for Kubernetes there is the section kubernetes",
            )
        if (self.workers is not None or self.rpc_secret is not None) and not master.startswith("spark://"):
            raise PydanticCustomError(
                "no_cluster", "workers and rpc_secret are of a cluster; they need a master spark://host:port"
            )
        return self

    @model_validator(mode="after")
    def _has_an_address(self) -> Self:
        services = [name for name in ("kubernetes", "emr_serverless", "glue") if getattr(self, name) is not None]
        if self.mode == "driver":
            return self
        if len(services) + (self.master is not None) > 1 or (services and self.mode != "submit"):
            raise PydanticCustomError(
                "one_service", "Mode submit takes one of master, kubernetes, emr_serverless and glue; others take none"
            )
        needed = "remote" if self.mode == "connect" else "messages" if services else "master"
        if not getattr(self, needed):
            raise PydanticCustomError(
                "needs_key", "Mode {mode} needs the key {needed}", {"mode": self.mode, "needed": needed}
            )
        return self

    @field_validator("remote")
    @classmethod
    def _hides_its_token(cls, value: Property | None) -> Property | None:
        return None if value is None else hidden(value)

    @field_validator("rpc_secret")
    @classmethod
    def _is_hidden(cls, value: Property | None) -> Property | None:
        return None if value is None else hidden(value, "rpc_secret")

    @property
    def remote_address(self) -> str | None:
        """The Connect server's address in the clear; secrets are looked up here."""
        return None if self.remote is None else revealed(self.remote)
