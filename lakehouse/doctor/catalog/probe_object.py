"""A small object in the tables' storage: written, read, listed and deleted with PyIceberg's FileIO."""

import secrets
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

from pyarrow import fs
from pyiceberg.io import FileIO, load_file_io
from pyiceberg.io.fsspec import FsspecFileIO

from lakehouse.doctor.catalog.aws_identity import is_nobody
from lakehouse.doctor.catalog.error_meanings import NO_IDENTITY, meaning_of
from lakehouse.doctor.finding import Diagnosis, well, wrong
from lakehouse.iceberg.arrow_client import arrow_client
from lakehouse.protocol.catalog.rest_catalog.safe_properties import without_code

_BYTES = b"written by lakehouse doctor; it may be deleted\n"
_MAY = {
    "write": "let it write objects (S3: s3:PutObject; Azure: w in the SAS; GCS: storage.objects.create)",
    "read": "let it read objects (S3: s3:GetObject; GCS: storage.objects.get)",
    "list": "let it list (S3: s3:ListBucket on the bucket; Azure: l in the SAS; GCS: storage.objects.list)",
    "delete": "let it delete objects (S3: s3:DeleteObject; Azure: d in the SAS; GCS: storage.objects.delete)",
}


class _OtherBytes(Exception):
    """What was read is not what was written."""


def probe_object(location: str, properties: Mapping[str, str]) -> Iterator[Diagnosis]:
    """Try the four operations below a location; what was written is deleted, where that is possible.

    The object is named as data files are: stores that are made for tables refuse others.

    Args:
        location: of a table, or the warehouse.
        properties: of its storage, in PyIceberg's names.
    """
    local = urlsplit(location).scheme in ("", "file")  # where an empty folder would stay
    folder = location.rstrip("/") if local else f"{location.rstrip('/')}/data"
    path = f"{folder}/lakehouse-doctor-{secrets.token_hex(4)}.parquet"
    doing = "write"
    io: FileIO | None = None
    try:
        io = load_file_io(without_code(dict(properties)), path)
        with io.new_output(path).create() as stream:
            stream.write(_BYTES)
        doing = "read"
        with io.new_input(path).open() as stream:
            _require(stream.read() == _BYTES)
        doing = "list"
        _require(_is_listed(io, folder, path))
        doing = "delete"
        io.delete(path)
    except Exception as error:  # noqa: BLE001 - each store refuses in an error of its own
        yield _refusal(doing, location, error, nobody=is_nobody(location, properties))
        if io is not None and doing in ("read", "list"):
            yield from _removed(io, path)
        return
    yield well("probe object", f"an object below {location} was written, read, listed and deleted")


def _require(as_written: bool) -> None:  # noqa: FBT001 - it reads as a sentence
    if not as_written:
        raise _OtherBytes


def _refusal(doing: str, location: str, error: Exception, *, nobody: bool) -> Diagnosis:
    known = NO_IDENTITY if nobody else meaning_of(error)
    what = f"An object below {location}: to {doing} it failed"
    if known is not None:
        return wrong("probe object", f"{what}. {known[0]}", known[1])
    reason = "it is not there as it was written" if isinstance(error, _OtherBytes) else type(error).__name__
    return wrong("probe object", f"{what} ({reason}).", _MAY[doing])


def _removed(io: FileIO, path: str) -> Iterator[Diagnosis]:
    try:
        io.delete(path)
    except Exception as error:  # noqa: BLE001 - as above
        yield wrong("probe object", f"{path} could not be deleted ({type(error).__name__}).", _MAY["delete"])


def _is_listed(io: FileIO, location: str, path: str) -> bool:
    """Whether a listing of the location has the object. FileIO has no such method; its file system has."""
    name = path.rpartition("/")[2]
    parts = urlsplit(location)
    if known := arrow_client(io, location):
        client, _, folder = known
        return any(info.base_name == name for info in client.get_file_info(fs.FileSelector(folder)))
    if isinstance(io, FsspecFileIO):
        system = io.get_fs(parts.scheme)
        return any(str(listed).rpartition("/")[2] == name for listed in system.ls(location, detail=False))
    return True  # of another FileIO nobody knows how to list
