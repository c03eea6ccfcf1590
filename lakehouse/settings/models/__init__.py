"""The typed settings. Unknown keys are refused everywhere, so that a misspelt one cannot be silently ignored."""

from lakehouse.settings.models.automation import AutomationSettings, DagsterSettings
from lakehouse.settings.models.catalog import CatalogSettings
from lakehouse.settings.models.kafka import GlueRegistrySettings, KafkaSettings, MskIamSettings, RegistrySettings
from lakehouse.settings.models.limits import IngestSettings, MaintenanceSettings
from lakehouse.settings.models.platform import Platform, WorkersSettings
from lakehouse.settings.models.remote_drivers import (
    EmrServerlessSettings,
    GlueSettings,
    KubernetesSettings,
    RemoteDriver,
)
from lakehouse.settings.models.section import Section
from lakehouse.settings.models.settings import Settings

__all__ = [
    "AutomationSettings",
    "CatalogSettings",
    "DagsterSettings",
    "EmrServerlessSettings",
    "GlueRegistrySettings",
    "GlueSettings",
    "IngestSettings",
    "KafkaSettings",
    "KubernetesSettings",
    "MaintenanceSettings",
    "MskIamSettings",
    "Platform",
    "RegistrySettings",
    "RemoteDriver",
    "Section",
    "Settings",
    "WorkersSettings",
]
