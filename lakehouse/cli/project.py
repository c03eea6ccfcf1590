"""The files of a user's own project: which there are, and what is written into each."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from string import Template

from lakehouse.errors import LakehouseError
from lakehouse.settings.installed_package import DISTRIBUTION, NAMESAKE, version
from lakehouse.settings.shipped import SELECTION, shipped

# Of every project: template → file.
_COMMON = {
    "pyproject.toml": "pyproject.toml",
    "README.md": "README.md",
    "gitignore": ".gitignore",
}
# Of a project of one's own: settings without the demo, and one example.
_EXAMPLE = {
    "lakehouse.yaml": f"conf/{SELECTION}",
    "orders_table.py": "conf/declarations/tables/orders.py",
    "orders_stream.py": "conf/declarations/streams/orders.py",
    "orders.jsonl": "conf/samples/orders.jsonl",
}
_SHIPPED = ("dagster.yaml", "workspace.yaml", "conf/platforms", "conf/catalogs", "conf/kafka")
_DEMO = (f"conf/{SELECTION}", "conf/declarations")


class ProjectFileExists(LakehouseError):
    """A file that a new project would have is there already."""


class ProjectNotWritten(LakehouseError):
    """The disk refuses a file of a new project."""


def write_project(folder: Path, *, demo: bool) -> list[Path]:
    """Write the files of a new project.

    Args:
        folder: where; it is made, and may hold other files.
        demo: whether the demo's declarations are written, in the place of an example.

    Returns:
        The files, relative to the folder.

    Raises:
        ProjectFileExists: one of the files is there. Nothing was written.
        ProjectNotWritten: the disk refuses a file. Those that were written are gone again.
    """
    return _write(folder, dict(_contents(folder, demo=demo)))


def write_component(root: Path, folder: Path) -> Path:
    """Write what a component needs: an example of declarations beside its `defs.yaml`, and settings that name them.

    Args:
        root: the Dagster project's folder, which gets `conf/` if it has none.
        folder: that of the `defs.yaml`.

    Returns:
        The folder of settings.

    Raises:
        ProjectFileExists: one of the files is there. Nothing was written.
        ProjectNotWritten: the disk refuses a file.
    """
    conf = root / "conf"
    declarations = os.path.relpath(folder / "declarations", conf)
    contents = {
        Path("declarations", kind, "orders.py"): _template(f"orders_{kind[:-1]}.py") for kind in ("tables", "streams")
    }
    _write(folder, contents)
    if not (conf / SELECTION).is_file():
        selection = _template("lakehouse.yaml").replace("  - declarations\n", f"  - {declarations}\n")
        parts = [part for part in _SHIPPED if part.startswith("conf/")]
        _write(root, {Path("conf", SELECTION): selection, **dict(_shipped_files(parts))})
    return conf


def _write(folder: Path, contents: Mapping[Path, str]) -> list[Path]:
    for file in contents:
        if (folder / file).exists() or (folder / file).is_symlink():
            raise ProjectFileExists(
                f"{folder / file} exists; nothing was written.", remedy="choose another folder, or move the file away"
            )
    written: list[Path] = []
    try:
        for file, text in contents.items():
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as stream:
                written.append(path)
                stream.write(text)
    except OSError as error:
        for path in written:
            path.unlink()
        raise ProjectNotWritten(
            f"{error.filename or folder} cannot be written: {error.strerror}.", remedy="choose another folder"
        ) from None
    return sorted(contents)


def project_name(folder: Path) -> str:
    """The name of a project in a folder, as a Python distribution may be called; never the one that we must avoid."""
    name = re.sub(r"[^a-z0-9]+", "-", folder.absolute().name.casefold()).strip("-") or "project"
    return f"{name}-project" if name in {NAMESAKE, DISTRIBUTION} else name


def _contents(folder: Path, *, demo: bool) -> Iterator[tuple[Path, str]]:
    major, minor, *_ = version().split(".")
    names = {
        "name": project_name(folder),
        "distribution": DISTRIBUTION,
        "extras": "demo,dev" if demo else "dev",
        "version": version(),
        "next_version": f"{major}.{int(minor) + 1}",
        "python": metadata.metadata(DISTRIBUTION)["Requires-Python"],
    }
    for template, file in (_COMMON if demo else _COMMON | _EXAMPLE).items():
        text = shipped("project", f"{template}.template").read_text(encoding="utf-8")
        yield Path(file), Template(text).substitute(names)
    yield from _shipped_files((*_SHIPPED, *(_DEMO if demo else ())))


def _template(name: str) -> str:
    return Template(shipped("project", f"{name}.template").read_text(encoding="utf-8")).substitute()


def _shipped_files(names: Iterable[str]) -> Iterator[tuple[Path, str]]:
    for name in names:
        root = shipped(*name.split("/"))
        for file in [root] if root.is_file() else sorted(root.glob("**/*.*")):
            if file.suffix in {".py", ".yaml"}:
                yield Path(name, file.relative_to(root)), file.read_text(encoding="utf-8")
