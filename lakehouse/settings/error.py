"""The error of this room: it names a file (or an environment variable) and a key, and never a value."""

from lakehouse.errors import LakehouseError


class SettingsError(LakehouseError):
    """A setting is missing, unknown or wrong.

    The values themselves are left out on purpose: a secret typed into the wrong place must not reach a log.
    """
