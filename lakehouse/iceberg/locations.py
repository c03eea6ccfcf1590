"""Where a file or folder is, whichever way its address is written: for comparing, not for opening."""

import os.path
import re
from collections.abc import Mapping

from lakehouse.errors import LakehouseError

# Table properties by which data or metadata files lie elsewhere than below the table's location.
PATH_PROPERTIES = (
    "write.data.path",
    "write.metadata.path",
    "write.folder-storage.path",
    "write.object-storage.path",
)
_SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?P<host_follows>//)?")
_WITHOUT_HOST = ("hdfs", "viewfs")
# PyIceberg reads an address up to the first # or ?, and drops control characters: files of all names are then one.
_WHY = "is read only up to # or ?, and without control characters: all files would have one and the same address"
_CUT = re.compile(r"[#?\x00-\x1f\x7f]|^\s|\s$")


class AddressCut(LakehouseError):
    """Files would be written to an address of which only a part is read."""


def is_cut(address: str) -> bool:
    """Whether only a part of an address would be read."""
    return _CUT.search(address) is not None


def require_whole(table: str, location: str, properties: Mapping[str, str]) -> None:
    """Refuse a table whose files would be written to the wrong place, one over the other.

    Args:
        table: which, for the message.
        location: of the table.
        properties: of the table.

    Raises:
        AddressCut: names the property, or the table's location.
    """
    if is_cut(location):
        raise AddressCut(f"{table}: its location {location!r} {_WHY}.", remedy="make the table anew, elsewhere")
    for key in PATH_PROPERTIES:
        if is_cut(properties.get(key, "")):
            raise AddressCut(
                f"{table}: its property {key} = {properties[key]!r} {_WHY}.",
                remedy=f"name another folder, or ALTER TABLE {table} UNSET TBLPROPERTIES ('{key}')",
            )


def place_of(location: str) -> str:
    """The place that an address tells, with one slash at its end.

    `file:/t/a`, `file:///t/a`, `/t/a` and a symlink to it are one place, as are `s3://b/a` and `s3a://b/a`. Two places
    may be told alike where only the host of HDFS differs: then a file is kept that might have gone.
    """
    match = _SCHEME.match(location)
    scheme, path = (match["scheme"].lower(), location[match.end() :]) if match else ("file", location)
    if scheme == "file":
        path = os.path.realpath(path)
    elif scheme in _WITHOUT_HOST and match and match["host_follows"]:
        path = path.partition("/")[2]
    return re.sub("/+", "/", f"/{path}/")


def lies_elsewhere(properties: Mapping[str, str]) -> list[str]:
    """Properties of a table by which files of its own need not lie below its location.

    `write.object-storage.enabled` is none of them: alone it makes folders of hashes in the table's own data folder.
    """
    return [key for key in PATH_PROPERTIES if key in properties]
