"""Another path in manifests and lists of manifests, in the place of the one that they were written with."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyiceberg.avro.file import AvroFile, AvroOutputFile
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.typedef import Record
from pyiceberg.types import StructType

_IO = PyArrowFileIO()
_PATH, _LENGTH = "manifest_path", "manifest_length"


def replace_paths(file: Path, paths: "Paths") -> None:
    """Write an Avro file of Iceberg anew; of a list, the manifests have to be written before."""
    with AvroFile[Record](_IO.new_input(str(file))) as source:
        rows = list(source)
    fields = source.schema.as_struct()
    name = json.loads(source.header.meta["avro.schema"])["name"]
    with AvroOutputFile[Record](_IO.new_output(str(file)), source.schema, name, metadata=source.header.meta) as target:
        if rows:
            target.write_block([_listed(paths.replaced(row), fields, paths) for row in rows])


@dataclass(frozen=True)
class Paths:
    """Which path goes, and which comes.

    Args:
        folder: where the files are, whatever their paths are to be.
    """

    old: str
    new: str
    folder: Path

    def replaced(self, value: Any) -> Any:
        """A value of Avro, with the new path wherever the old one was."""
        match value:
            case str():
                return value.replace(self.old, self.new)
            case bytes():  # bounds of a column
                return value.replace(self.old.encode(), self.new.encode())
            case Record():
                return Record(*(self.replaced(value[i]) for i in range(len(value))))
            case list():
                return [self.replaced(each) for each in value]
            case Mapping():
                return {self.replaced(key): self.replaced(each) for key, each in value.items()}
            case _:
                return value

    def file(self, path: str) -> Path:
        """Where a file is that has one of the new paths."""
        # Hadoop writes file:/a, Java and PyIceberg file:///a.
        return self.folder / re.sub("^file:(//)?", "", path).removeprefix(self.new).lstrip("/")


def _listed(row: Record, fields: StructType, paths: Paths) -> Record:
    """An entry of a list has the length of its manifest, which is another once its paths are."""
    names = [field.name for field in fields.fields]
    if _PATH in names:
        manifest = paths.file(row[names.index(_PATH)])
        if manifest.exists():  # an old list may name manifests that expiry has removed
            row[names.index(_LENGTH)] = manifest.stat().st_size
    return row
