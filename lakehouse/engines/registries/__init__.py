"""Schema registries: how to reach them, and what they say."""

from lakehouse.engines.registries.confluent import ConfluentRegistry, RegisteredSchema, RegistryUnavailable

__all__ = ["ConfluentRegistry", "RegisteredSchema", "RegistryUnavailable"]
