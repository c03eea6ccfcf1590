"""Packages of Python that hold declarations: where one is, and by which name a file can be imported. Runs no code."""

import sys
from importlib.machinery import ModuleSpec
from pathlib import Path

from lakehouse.settings.error import SettingsError

PREFIX = "package="


def package_folder(text: str, where: str) -> Path:
    """The folder of a package, written as `package=shop.tables`.

    Args:
        text: as written.
        where: the file and key, for the error.

    Raises:
        SettingsError: Python has no such package.
    """
    name = text.removeprefix(PREFIX)
    spec = _spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise SettingsError(
            f"{where}: there is no package {name} that Python can import.",
            remedy="install it where this command and Dagster run, or name its folder.",
        )
    return Path(next(iter(spec.submodule_search_locations))).absolute()


def importable_name(file: Path) -> str | None:
    """The name by which a file of a package is imported, such as `shop.tables.orders`; None of any other file."""
    if not (file.parent / "__init__.py").is_file():
        return None
    parts, folder = [file.stem], file.parent
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    name = ".".join(parts)
    spec = _spec(name) if all(part.isidentifier() for part in parts) else None
    return name if spec is not None and spec.origin is not None and _same(Path(spec.origin), file) else None


def _spec(name: str) -> ModuleSpec | None:
    """Where a module is; importlib's own `find_spec` would run the packages above it."""
    path: list[str] | None = None
    spec: ModuleSpec | None = None
    parts = name.split(".")
    for number in range(len(parts)):
        spec = _of_finders(".".join(parts[: number + 1]), path)
        if spec is None:
            return None
        path = list(spec.submodule_search_locations or [])
    return spec


def _of_finders(name: str, path: list[str] | None) -> ModuleSpec | None:
    for finder in sys.meta_path:
        if hasattr(finder, "find_spec") and (spec := finder.find_spec(name, path)) is not None:
            return spec
    return None


def _same(origin: Path, file: Path) -> bool:
    return origin.resolve() == file.resolve()
