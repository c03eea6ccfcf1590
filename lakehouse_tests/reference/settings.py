"""`docs/reference/settings.md`: every key of `conf/`, from the models that read it."""

from collections.abc import Iterator

from pydantic import ByteSize
from pydantic.fields import FieldInfo

from lakehouse.polaris.declared.catalog import CatalogRole, PolarisCatalog, RolePrivileges
from lakehouse.polaris.declared.server import PolarisPrincipal, PolarisServer
from lakehouse.polaris.declared.storage import AzureStorage, FileStorage, GcsStorage, S3Storage
from lakehouse.settings.models import (
    AutomationSettings,
    CatalogSettings,
    DagsterSettings,
    EmrServerlessSettings,
    GlueRegistrySettings,
    GlueSettings,
    IngestSettings,
    KafkaSettings,
    KubernetesSettings,
    MaintenanceSettings,
    MskIamSettings,
    Platform,
    RegistrySettings,
    Section,
    Settings,
    WorkersSettings,
)
from lakehouse_tests.reference.lines import attributes, head, item, sentence, shown

GIVEN = {(Platform, "name"), (Settings, "conf"), (Settings, "state")}  # by the file's name, and by the folder's
SECTIONS: dict[str, type[Section]] = {
    "`conf/lakehouse.yaml`": Settings,
    "`ingest` in `conf/lakehouse.yaml`": IngestSettings,
    "`maintenance` in `conf/lakehouse.yaml`": MaintenanceSettings,
    "`automation` in `conf/lakehouse.yaml`": AutomationSettings,
    "`dagster` in `conf/lakehouse.yaml`": DagsterSettings,
    "A file of `conf/platforms/`": Platform,
    "`workers` in a file of `conf/platforms/`": WorkersSettings,
    "`kubernetes` in a file of `conf/platforms/`": KubernetesSettings,
    "`emr_serverless` in a file of `conf/platforms/`": EmrServerlessSettings,
    "`glue` in a file of `conf/platforms/`": GlueSettings,
    "A file of `conf/catalogs/`": CatalogSettings,
    "A file of `conf/kafka/`": KafkaSettings,
    "`schema_registry` in a file of `conf/kafka/`": RegistrySettings,
    "`glue_registry` in a file of `conf/kafka/`": GlueRegistrySettings,
    "`msk_iam` in a file of `conf/kafka/`": MskIamSettings,
    "A file of `conf/polaris/`": PolarisServer,
    "A catalog in a file of `conf/polaris/`": PolarisCatalog,
    "`storage` of `type: s3` in a catalog of `conf/polaris/`": S3Storage,
    "`storage` of `type: gcs` in a catalog of `conf/polaris/`": GcsStorage,
    "`storage` of `type: azure` in a catalog of `conf/polaris/`": AzureStorage,
    "`storage` of `type: file` in a catalog of `conf/polaris/`": FileStorage,
    "A role in a catalog of `conf/polaris/`": CatalogRole,
    "`privileges` of a role in `conf/polaris/`": RolePrivileges,
    "A principal in a file of `conf/polaris/`": PolarisPrincipal,
}
# What the loader puts where a file of `conf/` says nothing.
LOADED = {"platform": "local", "catalog": "local", "kafka": "local", "declarations": ["declarations"]}
_BEGIN = """
`conf/lakehouse.yaml` chooses a platform, a catalog and a Kafka by the names of their files: `conf/platforms/`,
`conf/catalogs/`, `conf/kafka/`. Unknown keys are refused.

- Each key has an environment variable: `LAKEHOUSE_PLATFORM=connect`, `LAKEHOUSE__INGEST__MAX_RECORDS_PER_RUN=100000`.
- `LAKEHOUSE_CONF` names another folder than `conf/`, as does `lakehouse --conf`.
- `LAKEHOUSE_DECLARATIONS` adds folders to `declarations`.
- Below `conf` and `properties` of a file, and below `parameters`, a name follows that is not ours. In it one
  underscore is a dot, two are an underscore and three a dash: `LAKEHOUSE__KAFKA__PROPERTIES__SASL_PASSWORD`. Capitals
  alone become small. A name that the file has, or PyIceberg, is known by any case and by one underscore for a dash.
- A variable that begins with `LAKEHOUSE_` and that nobody reads is refused, with the nearest that is read. Variables
  that files of `conf/` refer to are read.
- Sizes take units: `2 GiB`. `${home}` stands for the folder of local state.
- `${env:NAME}` and `${file:/path}` refer to a secret: as a value under `properties`, within `uri` and `remote`, or as
  `rpc_secret`. It is read when it is used, and never shown. Within an address it is written with percent signs.
- What looks like a secret in a file is refused: by its key (`sasl.password`, `header.Authorization`, a JAAS
  configuration), or by its text (a password in an address, an account's key, a private key). A part of one beside a
  reference is refused too; an id before the colon (`credential: id:${env:SECRET}`) and a key's path are none.
- The folder of local state is made for its owner alone (mode 0700)."""


def page() -> str:
    """The whole page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield from head("Settings", "Every key of the files below `conf/`.")
    yield _BEGIN
    for title, section in SECTIONS.items():
        yield from ("", f"## {title}", "")
        documented = attributes(section)
        for name, field in section.model_fields.items():
            if (section, name) not in GIVEN:
                yield from item(name, f"{sentence(documented[name])} {_default(name, field)}")
        if section is Settings:
            yield from item("home", "The folder of local state. Default: `'../.lakehouse'`.")


def _default(name: str, field: FieldInfo) -> str:
    if name in LOADED:
        return f"Default: {shown(LOADED[name])}."
    if isinstance(field.annotation, type) and issubclass(field.annotation, Section):
        return "Its keys are below."
    if field.is_required():
        return "To be given."
    return f"Default: {shown(int(field.default) if isinstance(field.default, ByteSize) else field.default)}."
