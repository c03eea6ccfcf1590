"""When storage says that a file was written, by its own clock."""

from pyiceberg.io import FileIO

from lakehouse.iceberg.arrow_client import arrow_client
from lakehouse.iceberg.durable_files import local_path


def modified_ms(io: FileIO, location: str) -> int | None:
    """Milliseconds since the epoch, or None where the storage, or PyIceberg's way to it, does not say.

    On a disk of this machine it is this machine's clock; on one that is shared, and in an object store, it is not.

    Raises:
        FileNotFoundError: the file is gone.
    """
    if (path := local_path(location)) is not None:
        return path.stat().st_mtime_ns // 1_000_000
    known = arrow_client(io, location)
    if known is None:
        return None
    client, _, name = known
    written_ns = client.get_file_info(name).mtime_ns
    return None if written_ns is None else written_ns // 1_000_000
