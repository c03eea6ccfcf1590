"""What `conf/` says, typed: where Spark runs, where tables live, where Kafka is, and how much one run may take."""

from lakehouse.settings.error import SettingsError
from lakehouse.settings.loading import load_settings
from lakehouse.settings.models import (
    AutomationSettings,
    CatalogSettings,
    GlueRegistrySettings,
    IngestSettings,
    KafkaSettings,
    MaintenanceSettings,
    Platform,
    RegistrySettings,
    Settings,
    WorkersSettings,
)
from lakehouse.settings.parameters import Parameter, Parameters, digest_of, laid_over, value_digests
from lakehouse.settings.secret import LateSecret

__all__ = [
    "AutomationSettings",
    "CatalogSettings",
    "GlueRegistrySettings",
    "IngestSettings",
    "KafkaSettings",
    "LateSecret",
    "MaintenanceSettings",
    "Parameter",
    "Parameters",
    "Platform",
    "RegistrySettings",
    "Settings",
    "SettingsError",
    "WorkersSettings",
    "digest_of",
    "laid_over",
    "load_settings",
    "value_digests",
]
