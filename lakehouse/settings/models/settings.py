"""Everything that `conf/` and the environment say, in one object."""

from pathlib import Path
from typing import cast
from zoneinfo import ZoneInfo

from pydantic import field_validator
from pydantic_core import PydanticCustomError

from lakehouse.settings.models.automation import AutomationSettings, DagsterSettings
from lakehouse.settings.models.catalog import CatalogSettings
from lakehouse.settings.models.kafka import KafkaSettings
from lakehouse.settings.models.limits import IngestSettings, MaintenanceSettings
from lakehouse.settings.models.platform import Platform
from lakehouse.settings.models.section import Section
from lakehouse.settings.parameters import Parameter, problem_of
from lakehouse.settings.state import StateFolder


class Settings(Section):
    """Everything that `conf/` and the environment say.

    Attributes:
        conf: the folder that was read.
        state: where local state lives.
        timezone: the IANA zone in which a run's creation becomes its runtime date.
        platform: where Spark runs: the name of a file of `conf/platforms/`.
        catalog: where tables live: the name of a file of `conf/catalogs/`.
        other_catalogs: names of further files of `conf/catalogs/`, whose tables derived tables may read as
            `name:namespace.table`; each has its own credentials, and is never written to.
        kafka: where Kafka is: the name of a file of `conf/kafka/`.
        ingest: how much one run may take.
        maintenance: how much maintenance may do at one look.
        automation: when sensors look, and which run by themselves.
        dagster: what Dagster keeps.
        jars: a folder that the locked JARs are taken from, in the place of Maven.
        declarations: the folders whose files declare tables and streams; `package=shop.tables` is the folder of a
            package, which Python imports as it imports any other.
        demo: whether the demo takes part; otherwise what is declared with the owner `demo` is left out.
        polaris: the Polaris server that is held to its file of `conf/polaris/`, by name.
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
    other_catalogs: dict[str, CatalogSettings] = {}
    declarations: tuple[Path, ...]
    demo: bool = True
    polaris: str | None = None
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
