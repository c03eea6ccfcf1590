"""A lake as one small file, and that file as a lake in any folder.

Iceberg writes absolute paths into metadata, lists of manifests and manifests; the catalog and the settings have some.
In the file all of them begin with `ROOT`; unpacked, with the folder. Files of data stay byte for byte as they were
written.
"""

import json
import shutil
import sqlite3
import tarfile
import tempfile
from contextlib import closing
from pathlib import Path

from lakehouse_tests.recorded.avro_paths import Paths, replace_paths

FOLDER = Path(__file__).parent
LARGEST = 500_000  # bytes of an archive
ROOT = "/recorded/lake"
_FACTS = "facts.json"  # what was true of it when it was recorded
_TEXTS = ("*.json", "*.yaml")
# Without what processes leave, and what every checkout has.
_KEPT = (
    *("conf/lakehouse.yaml", "conf/catalogs", "conf/declarations", "conf/kafka", "conf/platforms"),
    *("state/catalog.db", "state/warehouse"),
)


def archive_of(version: str) -> Path:
    """The file of a released version."""
    return FOLDER / f"lake-{version}.tar.xz"


def versions() -> list[str]:
    """All that are recorded."""
    return sorted(file.name.removeprefix("lake-").removesuffix(".tar.xz") for file in FOLDER.glob("lake-*.tar.xz"))


def pack(lake: Path, version: str, facts: object) -> Path:
    """Write a lake that nobody writes to any more, with what is true of it and without processes' state."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "lake"
        _checkpoint(lake / "state" / "catalog.db")
        for name in _KEPT:
            _copy(lake / name, copy / name)
        (copy / _FACTS).write_text(json.dumps(facts))
        _relocate(copy, str(lake), ROOT)
        with tarfile.open(archive_of(version), "w:xz", preset=9) as archive:
            archive.add(copy, ".", filter=_anonymous)
    return archive_of(version)


def unpack(version: str, folder: Path) -> dict[str, object]:
    """Put a recorded lake into a folder; returns what was true of it when it was recorded."""
    with tarfile.open(archive_of(version)) as archive:
        archive.extractall(folder, filter="data")
    _relocate(folder, ROOT, str(folder))
    return json.loads((folder / _FACTS).read_text())


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        # Checksums are of the files with the old paths.
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.crc", "__pycache__"))
    else:
        shutil.copy(source, target)


def _checkpoint(catalog: Path) -> None:
    """What is in SQLite's log goes to the one file that is packed."""
    with closing(sqlite3.connect(catalog)) as db:
        db.execute("PRAGMA journal_mode = DELETE")


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.mtime = 0
    member.uname = member.gname = ""
    return member


def _relocate(folder: Path, old: str, new: str) -> None:
    """Put one path in the place of another; `folder` is what lies, or will lie, at the new one."""
    for file in (file for pattern in _TEXTS for file in folder.rglob(pattern)):
        file.write_text(file.read_text().replace(old, new))
    # Lists of manifests last: they have the length of each manifest.
    for file in sorted(folder.rglob("*.avro"), key=lambda file: file.name.startswith("snap-")):
        replace_paths(file, Paths(old, new, folder))
    with closing(sqlite3.connect(folder / "state" / "catalog.db")) as db, db:
        for table, column in (
            ("iceberg_tables", "metadata_location"),
            ("iceberg_tables", "previous_metadata_location"),
            ("iceberg_namespace_properties", "property_value"),
        ):
            db.execute(f"UPDATE {table} SET {column} = replace({column}, ?, ?)", (old, new))
