"""Looks at every file of a snapshot for the one that cannot be read.

Readers stop at the first thing that they cannot read, and most do not say what it was. So after a failure, and only
then, the files that a snapshot lists are looked at one by one.
"""

from collections.abc import Callable
from typing import Literal, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import orc
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import Table

from lakehouse.iceberg.claims.footer import contradiction
from lakehouse.iceberg.claims.listed import false_line, line_of, listed_again
from lakehouse.iceberg.entries import live_entries
from lakehouse.iceberg.manifests.entry_reader import manifests_in
from lakehouse.iceberg.names import table_name
from lakehouse.protocol.damage.damage import Damage, DamageKind, first_line

Depth = Literal["lists", "ends", "rows", "pages"]
"""How closely files are looked at: what lists them; also their ends; the rows of all where nothing else is found; or
every page of each that is sound at its end, with its checksum."""
_Result = TypeVar("_Result")


def damages(
    table: Table,
    snapshot_id: int | None,
    *,
    depth: Depth = "rows",
    known: set[str] | None = None,
) -> list[Damage]:
    """Look at every file of a snapshot.

    Args:
        table: as it was loaded.
        snapshot_id: which snapshot; None for a table without any.
        depth: how closely.
        known: what was looked at for another snapshot, and is not looked at again; more is added to it.
    """
    known = set() if known is None else known
    snapshot = table.metadata.snapshot_by_id(snapshot_id) if snapshot_id is not None else None
    if snapshot is None:
        return []
    inspection = _Inspection(table)
    manifests = inspection.read(
        "the list of manifests", snapshot.manifest_list, lambda path: manifests_in(table.io, path)
    )
    files: dict[str, DataFile] = {}
    if again := listed_again(manifests or ()):
        inspection.note_list(snapshot.manifest_list, again)
    for manifest in manifests or ():
        if (line := line_of(manifest)) in known:
            continue
        known.add(line)
        path = manifest.manifest_path
        entries = inspection.read("manifest", path, lambda _, listed=manifest: list(live_entries(table.io, listed)))
        if wrong := false_line(table, manifest, entries or ()):
            inspection.note_list(snapshot.manifest_list, f"{path.rpartition('/')[2]} is listed {wrong}")
        files |= {e.data_file.file_path: e.data_file for e in entries or () if e.data_file.file_path not in known}
    known |= files.keys()
    for file in files.values() if depth != "lists" else ():
        known_damages = len(inspection.damages)
        inspection.check_end(file)
        if depth == "pages" and len(inspection.damages) == known_damages and file.file_format in _contents():
            inspection.read_rows(file, otherwise="changed_file")
    if depth == "rows" and not inspection.damages:
        for file in files.values():
            inspection.read_rows(file)
    return inspection.damages


class _OtherRowsError(Exception):
    """A file holds another number of rows than the table counts in it."""


class _Inspection:
    """Notes what is wrong with files."""

    def __init__(self, table: Table) -> None:
        self._table, self._name = table, table_name(table)
        self.damages: list[Damage] = []

    def read(
        self,
        subject: str,
        path: str,
        reader: Callable[[str], _Result],
        *,
        otherwise: DamageKind = "unreadable_file",
    ) -> _Result | None:
        """Read a file, or note why that cannot be done, as this kind of damage."""
        try:
            return reader(path)
        except FileNotFoundError:
            self._add("missing_file", subject, path, "is in the table, and not in storage")
        except _OtherRowsError as error:
            self._add("unreadable_file", subject, path, str(error))
        except Exception as error:  # noqa: BLE001 - a cut file fails in as many ways as there are places to cut it
            self._add(otherwise, subject, path, f"cannot be read ({first_line(error)})")
        return None

    def note_list(self, path: str, problem: str) -> None:
        """A manifest is not as its list says."""
        reason = f"is wrong: {problem}, so that readers may leave out or double its rows"
        self._add("misdescribed_file", "the list of manifests", path, reason)

    def check_end(self, file: DataFile) -> None:
        """Whether the file is there, is of its kind, and has an end."""
        if file.content == DataFileContent.EQUALITY_DELETES:
            reason = (
                "deletes by value, which PyIceberg cannot apply: no proof can read this table before it is compacted"
            )
            self._add("equality_delete", "delete file", file.file_path, reason)
        elif file.file_format in (FileFormat.PARQUET, FileFormat.ORC):
            self.read(_kind(file), file.file_path, lambda path: self._footer(file, path))
        else:
            self.read(_kind(file), file.file_path, self._require_file)

    def read_rows(self, file: DataFile, *, otherwise: DamageKind = "unreadable_file") -> None:
        """Whether all of its rows can be read, each page as it was written."""
        if reader := _contents().get(file.file_format):
            self.read(_kind(file), file.file_path, lambda path: self._opened(path, reader), otherwise=otherwise)
        else:
            reason = (
                f"is {file.file_format.value}, which no proof can read. Remedy: set write.format.default of the table "
                "to parquet, and have its rows written anew (a mirror by a rebuild)"
            )
            self._add("unread_format", _kind(file), file.file_path, reason)

    def _require_file(self, path: str) -> None:
        if not self._table.io.new_input(path).exists():
            raise FileNotFoundError(path)

    def _opened(self, path: str, reader: Callable[[pa.NativeFile], object]) -> None:
        with self._table.io.new_input(path).open() as stream:
            reader(pa.PythonFile(stream, mode="r"))

    def _footer(self, file: DataFile, path: str) -> None:
        with self._table.io.new_input(path).open() as stream:
            opened = pa.PythonFile(stream, mode="r")
            parquet = pq.ParquetFile(opened) if file.file_format == FileFormat.PARQUET else None
            row_count = parquet.metadata.num_rows if parquet else orc.ORCFile(opened).nrows
            if row_count != file.record_count:
                raise _OtherRowsError(f"holds {row_count:,} rows, and {file.record_count:,} are counted in it")
            spec = self._table.specs()[file.spec_id]
            if parquet and (problem := contradiction(file, parquet, self._table.schema(), spec)):
                self._add("misdescribed_file", _kind(file), path, f"{problem}, so that readers may leave out its rows")

    def _add(self, kind: DamageKind, subject: str, path: str, reason: str) -> None:
        # By its name alone: the folders of a path may show a partition's value.
        name = path.rpartition("/")[2]
        self.damages.append(Damage(kind, self._name, path, f"{self._name}: {subject} {name} {reason}."))


def _contents() -> dict[FileFormat, Callable[[pa.NativeFile], object]]:
    def batches(stream: pa.NativeFile) -> None:
        # Pages without a checksum are read as they are: not every writer leaves them.
        for _ in pq.ParquetFile(stream, page_checksum_verification=True).iter_batches():
            pass

    def stripes(stream: pa.NativeFile) -> None:
        opened = orc.ORCFile(stream)
        for stripe in range(opened.nstripes):
            opened.read_stripe(stripe)

    return {FileFormat.PARQUET: batches, FileFormat.ORC: stripes}


def _kind(file: DataFile) -> str:
    return "data file" if file.content == DataFileContent.DATA else "delete file"
