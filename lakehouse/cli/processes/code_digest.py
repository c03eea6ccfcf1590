"""Who judges: a digest of all code, declarations and parameters that a verdict may depend on."""

import hashlib
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path

import lakehouse
from lakehouse.settings import Settings

_LIBRARIES = ("stdlib", "platstdlib", "purelib", "platlib", "scripts")
_COMPILED = "__pycache__"


def code_digest(settings: Settings) -> str:
    """The digest: of the package's files, of the declarations, of what these import, and of what is installed.

    A verdict by other code is no verdict of ours: a rule may mean something else since, also by way of a library.

    Args:
        settings: whose declarations have been imported.

    Raises:
        OSError: a file cannot be read.
    """
    own = [Path(lakehouse.__file__).parent, settings.conf, *settings.declarations]
    with_parameters = f"{sys.version}|{settings.timezone}|{sorted(settings.parameters.items())}\n"
    digest = hashlib.sha256(with_parameters.encode())
    for file in sorted({*_files_in(own), *_imported(own)}):
        digest.update(f"{file}|{hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    for line in sorted(_installed()):
        digest.update(f"{line}\n".encode())
    return digest.hexdigest()[:16]


def _files_in(folders: Iterable[Path]) -> Iterator[Path]:
    """All of them, as rules may be read from any; but nothing hidden, such as a state folder."""
    for folder in folders:
        for path in folder.rglob("*"):
            inside = path.relative_to(folder).parts
            if path.is_file() and _COMPILED not in inside and not any(part.startswith(".") for part in inside):
                yield path


def _imported(own: Iterable[Path]) -> Iterator[Path]:
    """Files of modules that come from neither Python nor an installed package: a team's own, beside declarations."""
    elsewhere = [*own, *(Path(sysconfig.get_path(name)) for name in _LIBRARIES)]
    for module in list(sys.modules.values()):
        if isinstance(name := getattr(module, "__file__", None), str):
            file = Path(name)
            if file.is_file() and not any(file.is_relative_to(folder) for folder in elsewhere):
                yield file


def _installed() -> Iterator[str]:
    """Names and versions of what is installed, and what it consists of, as a version may be built twice."""
    for folder in dict.fromkeys(map(Path, sys.path)):
        for known in folder.glob("*.dist-info"):
            record = known / "RECORD"  # the digests of all its files
            yield f"{known.name}|{hashlib.sha256(record.read_bytes()).hexdigest() if record.is_file() else ''}"
