"""The JARs that Spark and the broker load: brought by Maven or from a folder once, checked by SHA-256 before each use.

A lock is a `sha256sum` file. A folder agrees with its lock when it holds the listed JARs, byte for byte,
and no others: what is in the folder is what a JVM gets to see.
"""

import fcntl
import hashlib
import re
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec
from rich.console import Console

from lakehouse.engines.maven import copy_dependencies
from lakehouse.errors import LakehouseError
from lakehouse.settings.state import make_private

_MOST_NAMED = 3  # JARs of a problem that a message names
_Verified = tuple[int, int, int, int, str]  # inode, size, time of modification and of status change; digest
REMEDY = "fetch the locked JARs again with `lakehouse jars`."


class JarMismatch(LakehouseError):
    """A folder of JARs is not what its lock says."""


def read_lock(lock: Path) -> dict[str, str]:
    """Read a `sha256sum` file: file name to digest, in the order of the lock."""
    if not lock.is_file():
        raise JarMismatch(f"{lock} does not exist.", remedy="restore it from version control.")
    entries: dict[str, str] = {}
    for line in lock.read_text(encoding="utf-8").splitlines():
        match = re.fullmatch(r"([0-9a-f]{64}) [ *]([^/\s]+\.jar)", line)
        if match is None:
            raise JarMismatch(f"{lock}: {line!r} is no line of sha256sum.", remedy="restore it from version control.")
        entries[match[2]] = match[1]
    return entries


def verified_jars(lock: Path, folder: Path) -> list[Path]:
    """Return the locked JARs in the order of the lock, or refuse.

    Args:
        lock: The `sha256sum` file.
        folder: Where the JARs are.

    Raises:
        JarMismatch: A JAR is missing, differs, or is not in the lock.
    """
    locked = read_lock(lock)
    present = {path.name: path.is_file() for path in folder.glob("*.jar")}
    digests = _digests(folder, sorted(name for name, is_file in present.items() if is_file))
    other = [name for name, digest in locked.items() if digests.get(name, digest) != digest]
    problems = [
        *_named([name for name in locked if name not in present], "is missing"),
        *_named(sorted(present.keys() - locked.keys()), "is not in the lock"),
        *_named(sorted(present.keys() - digests.keys()), "is no file"),
        *_named(other, "has another SHA-256"),
    ]
    if problems:
        raise JarMismatch(f"{folder} does not agree with {lock}: {'; '.join(problems)}.", remedy=REMEDY)
    return [folder / name for name in locked]


def _named(names: list[str], problem: str) -> list[str]:
    """A problem of some JARs, the first few by name: there are dozens."""
    more = [f"so it is with {len(names) - _MOST_NAMED} more"] if len(names) > _MOST_NAMED else []
    return [*(f"{name} {problem}" for name in names[:_MOST_NAMED]), *more]


def fetch_jars(
    pom: Path, folder: Path, lock: Path, *, source: Path | None = None, console: Console | None = None
) -> list[Path]:
    """Bring the JARs of a pom into a folder and verify them; does nothing if they are there already.

    The folder is replaced in one rename after the check, so a broken download never becomes a class path. Of several
    processes that want the same folder, one brings the JARs and the others wait for it.

    Args:
        pom: The Maven project whose runtime dependencies are wanted.
        folder: Where they go.
        lock: What they must be.
        source: A folder to take them from, in the place of Maven; they may lie at any depth, among others.
        console: Where progress is shown.

    Raises:
        JarsNotFetched: Maven is missing or failed.
        JarMismatch: What Maven brought, or what the source holds, is not what the lock says.
    """
    if (present := _verified_or_none(lock, folder)) is not None:
        return present
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        kind = "a symbolic link" if folder.is_symlink() else "a file"
        raise JarMismatch(
            f"{folder} is {kind}, does not hold what {lock} asks for, and is not ours to replace.",
            remedy="remove it, and fetch the locked JARs with `lakehouse jars`.",
        )
    make_private(folder.parent)
    with _alone(folder), _scratch(folder) as scratch:
        if (present := _verified_or_none(lock, folder)) is not None:
            return present  # brought by another process while we waited
        fresh = scratch / folder.name
        if source is None:
            copy_dependencies(
                pom, fresh, set(read_lock(lock)), console or Console(stderr=True, markup=False, emoji=False)
            )
        else:
            _take(source, fresh, lock)
        verified_jars(lock, fresh)
        if folder.exists():
            shutil.rmtree(folder)
        fresh.rename(folder)
        return verified_jars(lock, folder)


def _verified_or_none(lock: Path, folder: Path) -> list[Path] | None:
    """The JARs; None if they are absent, half there, outdated, or just being replaced by another process."""
    try:
        return verified_jars(lock, folder)
    except (JarMismatch, FileNotFoundError):
        return None


@contextmanager
def _alone(folder: Path) -> Generator[None]:
    """Wait until no other process replaces this folder, and keep others waiting."""
    with (folder.parent / f".{folder.name}.lock").open("a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@contextmanager
def _scratch(folder: Path) -> Generator[Path]:
    """A folder beside it that is gone afterwards, as are those that killed processes have left: we are alone here."""
    for path in folder.parent.iterdir():
        if re.fullmatch(rf"\.{re.escape(folder.name)}-[a-z0-9_]{{8}}", path.name):
            shutil.rmtree(path, ignore_errors=True)  # a Maven that outlives its command may write there still
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as scratch:
        yield Path(scratch)


def _take(source: Path, folder: Path, lock: Path) -> None:
    """Copy the locked JARs out of a folder that somebody has filled."""
    folder.mkdir()
    present: dict[str, list[Path]] = {}
    for path in sorted(filter(Path.is_file, source.rglob("*.jar"))):
        present.setdefault(path.name, []).append(path)
    missing: list[str] = []
    other: list[str] = []
    for name, digest in read_lock(lock).items():
        candidates = present.get(name, [])
        jar = next((path for path in candidates if _sha256(path) == digest), None)
        if jar is None:
            (other if candidates else missing).append(name)
        else:
            shutil.copyfile(jar, folder / name)
    if problems := [*_named(missing, "is missing"), *_named(other, "has another SHA-256")]:
        raise JarMismatch(
            f"{source} does not hold what {lock} asks for: {'; '.join(problems)}.",
            remedy="put the JARs that the lock names into that folder, or unset LAKEHOUSE_JARS where there is Maven.",
        )


def _digests(folder: Path, names: list[str]) -> dict[str, str]:
    """SHA-256 of each file; one that was hashed before and has not been touched since is not read again.

    Untouched means: same inode, size, time of modification and time of status change. The last cannot be set by a
    program, so a file whose bytes were changed and whose dates were put back is hashed again too.
    """
    record = folder.parent / f"{folder.name}.verified.json"
    stored = _stored(record)
    current: dict[str, _Verified] = {}
    for name in names:
        stat = (folder / name).stat()
        identity = (stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
        known = stored.get(name)
        current[name] = known if known and known[:-1] == identity else (*identity, _sha256(folder / name))
    if current != stored:
        with suppress(OSError):  # a record that cannot be written, as in a read-only image, is one hash more each time
            _replace(record, msgspec.json.encode(current))
    return {name: digest for name, (*_, digest) in current.items()}


def _stored(record: Path) -> dict[str, _Verified]:
    """What was hashed before; nothing where the record is damaged, so that all is hashed again."""
    try:
        return msgspec.json.decode(record.read_bytes(), type=dict[str, _Verified])
    except (OSError, msgspec.MsgspecError):
        return {}


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _replace(path: Path, content: bytes) -> None:
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, delete=False) as stream:
        stream.write(content)
    try:
        Path(stream.name).replace(path)
    finally:
        Path(stream.name).unlink(missing_ok=True)
