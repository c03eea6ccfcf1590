"""The typed settings. Unknown keys are refused everywhere, so that a misspelt one cannot be silently ignored."""

import warnings
from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ByteSize, ConfigDict, Field, SecretStr, field_validator, model_validator
from pydantic_core import PydanticCustomError

from lakehouse.settings.database_address import require_database_address
from lakehouse.settings.parameters import Parameter, problem_of
from lakehouse.settings.plain_secret import hidden
from lakehouse.settings.secret import revealed
from lakehouse.settings.state import StateFolder

GONE = "seconds_per_tick"
Property = Annotated[str | SecretStr, Field(union_mode="left_to_right")]


class Section(BaseModel):
    """What all sections share: no unknown keys, no changes after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


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
            done by a driver of its own, by `spark-submit` in client mode.
        master: for classic, and for a Connect server that we start ourselves.
        remote: the Connect server's address, `sc://host:port`; references to secrets are allowed in it.
        conf: Spark configuration, passed as it is.
        stop_timeout_seconds: how long a session may take to stop before it is abandoned.
        register_within_seconds: how long a standalone master may take to register a driver, and then to give it an
            executor.
        rpc_secret: the key of a cluster whose processes know each other by one (`spark.authenticate.secret`): a
            reference to a secret. With it goes encryption of their connections.
        workers: Python on workers of other machines. Its keys are below. Without it they use `python3` of their path.
    """

    name: str
    mode: Literal["classic", "connect", "submit"]
    master: str | None = None
    remote: Property | None = None
    conf: dict[str, str] = {}
    stop_timeout_seconds: float = Field(default=10, gt=0)
    register_within_seconds: float = Field(default=30, gt=0)
    rpc_secret: Property | None = None
    workers: WorkersSettings | None = None

    @model_validator(mode="after")
    def _has_a_cluster(self) -> Self:
        """What only a cluster of ours to start on can be given is refused elsewhere, and kinds that are not built."""
        master = self.master or "local"
        if master.startswith(("k8s://", "yarn")):
            raise PydanticCustomError(
                "no_such_master",
                "Spark on Kubernetes and YARN is not built; a master is local[…] or spark://host:port",
            )
        if (self.workers is not None or self.rpc_secret is not None) and not master.startswith("spark://"):
            raise PydanticCustomError(
                "no_cluster", "workers and rpc_secret are of a cluster; they need a master spark://host:port"
            )
        return self

    @model_validator(mode="after")
    def _has_an_address(self) -> Self:
        needed = "remote" if self.mode == "connect" else "master"
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


class CatalogSettings(Section):
    """Where tables live: a file of `conf/catalogs/`.

    Attributes:
        name: the catalog's name, as the SQL catalog stores it with each table; Spark calls every catalog `lake`.
        type: `sql` (SQLite or PostgreSQL) or `rest`.
        uri: a SQLAlchemy address, or the REST catalog's URL. Spark's JDBC form is derived from it. References to
            secrets are allowed in it: `postgresql+psycopg://lake:${env:LAKE_PASSWORD}@host/lake`.
        warehouse: where new tables are put, an address without `#` and `?`; a REST catalog may take a name here.
        properties: further PyIceberg properties.
    """

    name: str = "lake"
    type: Literal["sql", "rest"]
    uri: Property
    warehouse: str
    properties: dict[str, Property] = {}

    @property
    def address(self) -> str:
        """The address in the clear; secrets are looked up here, so keep it out of messages.

        Raises:
            SettingsError: a secret cannot be looked up, or it is no address of a database where one is needed.
        """
        address = revealed(self.uri)
        if self.type == "sql":
            require_database_address(address, self.name)
        return address

    @field_validator("uri")
    @classmethod
    def _hides_its_password(cls, value: Property) -> Property:
        return hidden(value)

    @field_validator("properties")
    @classmethod
    def _hide_secrets(cls, value: dict[str, Property]) -> dict[str, Property]:
        return {key: hidden(item, key) for key, item in value.items()}

    @field_validator("warehouse")
    @classmethod
    def _is_read_whole(cls, value: str) -> str:
        """PyIceberg takes what follows for no part of the path: every file of a table would have one and the same."""
        if ":/" in value and set("#?") & set(value):
            raise PydanticCustomError(
                "path_is_cut", "An address with # or ? is read only up to there; name a folder (or a home) without them"
            )
        return value


class RegistrySettings(Section):
    """The schema registry of a Kafka: `schema_registry` in its file.

    Attributes:
        url: of a registry of Confluent's kind, `https://host:port`, with the path under which it speaks that language.
        properties: further properties of Confluent's client, such as `basic.auth.user.info`.
        timeout_seconds: how long one answer may take; it is asked three times.
    """

    url: str
    properties: dict[str, Property] = {}
    timeout_seconds: float = Field(default=10, gt=0)


class GlueRegistrySettings(Section):
    """A schema registry of AWS Glue: `glue_registry` in the file of a Kafka.

    Attributes:
        region: of the registry; otherwise as AWS' own chain has it, `AWS_DEFAULT_REGION` or the profile.
        profile: of the AWS configuration, in the place of the chain of credentials; it may name a role to assume.
        registry: its name, for schemas that `lakehouse produce` registers.
        endpoint_url: an address in the place of AWS' own.
        timeout_seconds: how long one answer may take; it is asked three times.
    """

    region: str | None = Field(default=None, pattern=r"^[a-z0-9-]+$")
    profile: str | None = None
    registry: str = "default-registry"
    endpoint_url: str | None = None
    timeout_seconds: float = Field(default=10, gt=0)


class MskIamSettings(Section):
    """Login to Amazon MSK by IAM, with what AWS' own chain of credentials brings: environment, profile, role.

    Attributes:
        region: of the cluster; otherwise what the brokers' names say, or else `AWS_REGION`.
        profile: of the AWS configuration, in the place of the chain.
        role_arn: a role to assume with the credentials of the chain.
    """

    region: str | None = Field(default=None, pattern=r"^[a-z0-9-]+$")
    profile: str | None = Field(default=None, pattern=r"^[^\"\\;]+$")
    role_arn: str | None = Field(default=None, pattern=r"^arn:[^\"\\;\s]+$")

    @model_validator(mode="after")
    def _is_unambiguous(self) -> Self:
        if self.profile and self.role_arn:
            raise PydanticCustomError("one_login", "Either profile or role_arn; a profile may itself name a role")
        return self


class KafkaSettings(Section):
    """Where Kafka is: a file of `conf/kafka/`.

    Attributes:
        bootstrap_servers: `host:port`, comma-separated.
        local: a broker of our own, that we start and stop.
        group_prefix: what the names of all our consumer groups begin with, for the cluster's access lists.
        mirror_positions: after each publish, write the position into the consumer group `<group_prefix><stream>`, for
            tools that watch lag. We never read it.
        msk_iam: Login to Amazon MSK by IAM, for both clients. Its keys are below.
        properties: further client properties in librdkafka's names; Spark's are derived from them.
        schema_registry: where schemas are, for streams whose records name theirs in Confluent's way.
        glue_registry: the same for records that name theirs in the way of AWS Glue. A topic may have both.
    """

    bootstrap_servers: str
    local: bool = False
    group_prefix: str = Field(default="lakehouse-", pattern=r"^[A-Za-z0-9._-]{1,100}$")
    mirror_positions: bool = False
    msk_iam: MskIamSettings | None = None
    properties: dict[str, Property] = {}
    schema_registry: RegistrySettings | None = None
    glue_registry: GlueRegistrySettings | None = None

    @field_validator("properties")
    @classmethod
    def _hide_secrets(cls, value: dict[str, Property]) -> dict[str, Property]:
        return {key: hidden(item, key) for key, item in value.items()}

    @model_validator(mode="after")
    def _has_one_login(self) -> Self:
        own = sorted(name for name in self.properties if name.startswith(("sasl.", "security.protocol")))
        if self.msk_iam is not None and own:
            raise PydanticCustomError(
                "one_login", "With msk_iam the property {name} is set by itself; remove it", {"name": own[0]}
            )
        return self


class IngestSettings(Section):
    """How much one run may take.

    Attributes:
        max_records_per_run: at most this many Kafka records.
        max_bytes_per_run: at most about this much, estimated from a sample of records; takes units ("2 GiB").
        min_partitions: at least this many Spark tasks, also for a topic with fewer partitions.
    """

    max_records_per_run: int = Field(default=5_000_000, gt=0)
    max_bytes_per_run: ByteSize = Field(default=ByteSize(2 * 1024**3), gt=0)
    min_partitions: int = Field(default=4, gt=0)


class MaintenanceSettings(Section):
    """How much maintenance may do, for all tables together.

    Attributes:
        every_seconds: how often the sensor looks.
        bytes_per_tick: at most so much is written anew by what one look starts; takes units ("2 GiB").
        runs_per_tick: at most so many runs.
        in_process_proof: up to so much a rewrite is proven in its own process, more by Spark; takes units.
    """

    every_seconds: int = Field(default=60, ge=30)
    bytes_per_tick: ByteSize = Field(default=ByteSize(2 * 1024**3), gt=0)
    runs_per_tick: int = Field(default=1, gt=0)
    in_process_proof: ByteSize = Field(default=ByteSize(8 * 1024**3), ge=0)

    @model_validator(mode="before")
    @classmethod
    def _drop_removed_keys(cls, given: Any) -> Any:
        """Earlier releases had `seconds_per_tick` in the file that they shipped: it is passed over, for one release."""
        if not isinstance(given, dict) or GONE not in given:
            return given
        # Of the kinds of warning for what goes, the one that Python shows by itself.
        warnings.warn(
            f"maintenance.{GONE} has no effect and goes with the next release; bytes_per_tick and runs_per_tick bound "
            "what one look starts. Remedy: remove it from conf/lakehouse.yaml, or from the environment.",
            FutureWarning,
            stacklevel=2,
        )
        return {key: value for key, value in cast("dict[str, Any]", given).items() if key != GONE}


class AutomationSettings(Section):
    """When sensors look, and which of them run without being switched on in Dagster's UI.

    Attributes:
        start: whether sensors run by themselves; in a branch deployment of Dagster+ none does.
        start_maintenance: whether the sensor `upkeep` does so, too. It deletes what policies let go, so it does not,
            but in `lakehouse dev` where nothing is said here.
        every_seconds: how often sensors of streams and mirrors look.
        patience_seconds: how old an unread record may be before a run is started for few of them.
        enough_records: so many unread records start a run, however young they are.
    """

    start: bool = True
    start_maintenance: bool = False
    every_seconds: int = Field(default=5, ge=1)
    patience_seconds: float = Field(default=5, ge=0)
    enough_records: int = Field(default=10_000, gt=0)


class DagsterSettings(Section):
    """What stands where in Dagster, and what it keeps where its home lies in the state folder.

    Attributes:
        asset_key_prefix: what stands before the names of tables in asset keys, with slashes: `corp/lake` makes
            `raw.flights` the asset `corp/lake/raw/flights`. To Dagster it is another asset then, without the history.
        maintenance_assets: whether Dagster shows an asset `maintenance/<table>` for each table, with its checks.
            Without them nothing is maintained by itself; `lakehouse maintain` does it all the same.
        keep_runs_days: runs that ended longer ago are deleted with their events; their commits stay in the audit log.
    """

    asset_key_prefix: str = Field(default="", pattern=r"^([A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*)?$")
    maintenance_assets: bool = True
    keep_runs_days: int = Field(default=7, ge=1)


class Settings(Section):
    """Everything that `conf/` and the environment say.

    Attributes:
        conf: the folder that was read.
        state: where local state lives.
        timezone: the IANA zone in which a run's creation becomes its runtime date.
        platform: where Spark runs: the name of a file of `conf/platforms/`.
        catalog: where tables live: the name of a file of `conf/catalogs/`.
        kafka: where Kafka is: the name of a file of `conf/kafka/`.
        ingest: how much one run may take.
        maintenance: how much maintenance may do at one look.
        automation: when sensors look, and which run by themselves.
        dagster: what Dagster keeps.
        jars: a folder that the locked JARs are taken from, in the place of Maven.
        declarations: the folders whose files declare tables and streams; `package=shop.tables` is the folder of a
            package, which Python imports as it imports any other.
        demo: whether the demo takes part; otherwise what is declared with the owner `demo` is left out.
        parameters: what derived tables are computed with, for every run that does not say otherwise in its tag.
    """

    conf: Path
    state: StateFolder
    timezone: str = "UTC"
    platform: Platform
    catalog: CatalogSettings
    kafka: KafkaSettings
    ingest: IngestSettings
    maintenance: MaintenanceSettings = MaintenanceSettings()
    automation: AutomationSettings = AutomationSettings()
    dagster: DagsterSettings = DagsterSettings()
    jars: Path | None = None
    declarations: tuple[Path, ...]
    demo: bool = True
    parameters: dict[str, Parameter] = {}

    @field_validator("parameters", mode="before")
    @classmethod
    def _are_parameters(cls, value: object) -> object:
        parameters = cast("dict[object, object]", value) if isinstance(value, dict) else {"parameters": value}
        for name, parameter in parameters.items():
            if (problem := problem_of(str(name), parameter)) is not None:
                raise PydanticCustomError("no_parameter", "{name} {problem}", {"name": str(name), "problem": problem})
        return parameters

    @field_validator("timezone")
    @classmethod
    def _is_a_zone(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (KeyError, ValueError, OSError):
            raise PydanticCustomError("no_such_zone", "Should be an IANA time zone such as Europe/Berlin") from None
        return value
