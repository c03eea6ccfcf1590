"""Runs declaration files, each on its own, and says which file and line an error came from."""

import hashlib
import importlib
import importlib.machinery
import importlib.util
import sys
import traceback
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from importlib.abc import Loader
from pathlib import Path
from threading import RLock
from types import CodeType, ModuleType

from pyspark import cloudpickle

from lakehouse.declarations.changelog import Changelog
from lakehouse.declarations.columns.error import DeclarationError
from lakehouse.declarations.derived import Derived
from lakehouse.declarations.mirror import Mirror
from lakehouse.declarations.registry.broken import FileBroken
from lakehouse.declarations.registry.mistyped_names import correction
from lakehouse.declarations.release import Release
from lakehouse.declarations.stream import Stream
from lakehouse.declarations.table import Table
from lakehouse.settings.packages import importable_name

_PRINTING = RLock()
Item = Table | Stream | Changelog | Mirror | Derived | Release


def python_files(folders: Iterable[Path]) -> Iterator[Path]:
    """Yield the files in order; names that begin with an underscore or a dot are passed over.

    Raises:
        DeclarationError: a folder is missing.
    """
    for folder in folders:
        if not folder.is_dir():
            raise DeclarationError(
                f"There is no declarations folder {folder}.",
                remedy="create it, or correct `declarations` in the settings.",
            )
        for file in sorted(folder.rglob("*.py")):
            if not any(part.startswith(("_", ".")) for part in file.relative_to(folder).parts):
                yield file


def declared_in(file: Path) -> list[Item]:
    """Run one file and return what it declares.

    Raises:
        FileBroken: the file raised an error.
    """
    module = _run(file)
    items: dict[int, Item] = {id(item): item for item in vars(module).values() if isinstance(item, Item)}
    for item in list(items.values()):
        match item:  # some are declared where they are used
            case Mirror(changelog=Changelog() as log):
                items.setdefault(id(log), log)
            case Derived(table=table):
                items.setdefault(id(table), table)
            case _:
                pass
    return list(items.values())


def declares_nothing(file: Path) -> FileBroken:
    """The refusal of a file that has run, and declares and defines nothing."""
    return FileBroken(
        f"{file}: declares no table, stream, changelog, mirror, derived table or release, and defines nothing of "
        "Dagster's.",
        remedy="assign one to a name, or begin the file's name with an underscore.",
        file=file,
        line=None,
    )


def module_of(file: Path) -> Mapping[str, object]:
    """Name → value of what a file has defined; nothing of one that has not run."""
    module = sys.modules.get(_module_name(file))
    return {} if module is None else dict(vars(module))


def _module_name(file: Path) -> str:
    # A name of its own for each path: files of the same name in two folders must not meet.
    return (
        importable_name(file)
        or f"lakehouse_declarations_{hashlib.sha256(str(file).encode()).hexdigest()[:12]}_{file.stem}"
    )


def _run(file: Path) -> ModuleType:
    if (package_name := importable_name(file)) is not None:
        return _imported(package_name, file)
    name = _module_name(file)
    spec = importlib.util.spec_from_loader(name, _Uncached(name, str(file)), origin=str(file))
    assert spec is not None
    assert isinstance(spec.loader, Loader)
    module = importlib.util.module_from_spec(spec)
    module.__file__ = str(file)
    # pandera looks up annotations through the registered module.
    sys.modules[name] = module
    try:
        with _loading(file):
            spec.loader.exec_module(module)
    except FileBroken:
        del sys.modules[name]
        raise
    # Rules written in the file travel to Spark's workers, which cannot import it.
    cloudpickle.register_pickle_by_value(module)
    return module


def _imported(name: str, file: Path) -> ModuleType:
    """Import a file of a package, which others import by the same name."""
    with _loading(file):
        module = importlib.import_module(name)
    # What the package's other modules give to rules travels along.
    cloudpickle.register_pickle_by_value(sys.modules[name.rpartition(".")[0]])
    return module


@contextmanager
def _loading(file: Path) -> Generator[None]:
    """While a file is run: whatever it raises is explained, and what it prints is no result of a command.

    Of `--json`, stdout holds JSON alone.

    Raises:
        FileBroken: it raised something, which need not be an `Exception`.
    """
    # Threads that exchanged stdout at once would put each other's back.
    with _PRINTING, redirect_stdout(sys.stderr):
        try:
            yield
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise _explained(file, error) from error


def _explained(file: Path, error: BaseException) -> FileBroken:
    line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == str(file):
            line = frame.lineno
    location = f"{file}, line {line}" if line else str(file)
    if isinstance(error, DeclarationError):
        return FileBroken(f"{location}: {error.message}", remedy=error.remedy, file=file, line=line)
    message = f"{location}: {type(error).__name__}{f': {error}' if str(error) else ''}."
    import lakehouse  # what is public is known when all of it is there

    public = {name: getattr(lakehouse, name) for name in lakehouse.__all__}
    return FileBroken(message, remedy=correction(error, public), file=file, line=line)


class _Uncached(importlib.machinery.SourceFileLoader):
    """Leaves no bytecode in a user's folder, and never runs an old one after a quick edit."""

    def get_code(self, fullname: str) -> CodeType | None:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)
