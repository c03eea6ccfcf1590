"""A copy of an embedded catalog, and of all files that it refers to."""

from lakehouse.protocol.backup.restore import restore
from lakehouse.protocol.backup.take import Backup, take_backup

__all__ = ["Backup", "restore", "take_backup"]
