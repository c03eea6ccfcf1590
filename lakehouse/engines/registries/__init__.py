"""Schema registries: how to reach them, and what they say."""

from lakehouse.engines.registries.confluent import ConfluentRegistry
from lakehouse.engines.registries.glue import GlueRefuses, GlueRegistry
from lakehouse.engines.registries.registered_schema import RegisteredSchema, RegistryUnavailable

__all__ = ["ConfluentRegistry", "GlueRefuses", "GlueRegistry", "RegisteredSchema", "RegistryUnavailable"]
