"""The other catalogs that a lakehouse reads from: further files of `conf/catalogs/`, by their names."""

from pathlib import Path
from typing import cast

from lakehouse.settings.document import Document, read_document
from lakehouse.settings.error import SettingsError
from lakehouse.settings.models.catalog import CatalogSettings
from lakehouse.settings.models.validated import validated
from lakehouse.settings.values import problem_of_catalog_name
from lakehouse.settings.written import substituted

KEY = "other_catalogs"


def other_catalogs(folder: Path, chosen: Document, home: Path) -> dict[str, CatalogSettings]:
    """The catalogs that `other_catalogs` of the selection names, by their names.

    Args:
        folder: of the catalogs' files.
        chosen: the selection; from an environment variable it is a text with commas.
        home: what `${home}` stands for.

    Raises:
        SettingsError: a name is of no file, is the own catalog, is there twice, or none that a table can be named by.
    """
    return {name: _read(folder / f"{name}.yaml", home) for name in _names(folder, chosen)}


def _names(folder: Path, chosen: Document) -> list[str]:
    listed, where = chosen.content.get(KEY) or [], chosen.where(KEY)
    if isinstance(listed, str):
        listed = [part.strip() for part in listed.split(",") if part.strip()]
    if not isinstance(listed, list) or not all(isinstance(name, str) for name in cast("list[object]", listed)):
        raise SettingsError(f"{where}: should be a list of names.", remedy="write one per line.")
    names = cast("list[str]", listed)
    there = sorted(path.stem for path in folder.glob("*.yaml"))
    own = chosen.text("catalog", "local")
    for name in names:
        if name not in there:
            raise SettingsError(
                f"{where}: there is no file {name!r} in {folder}.",
                remedy=f"choose from {', '.join(there)}, or write one.",
            )
        if problem := problem_of_catalog_name(name):
            raise SettingsError(f"{where}: {name!r} {problem}.", remedy="rename its file.")
        if name == own or names.count(name) > 1:
            what = "is the own catalog, which needs no name" if name == own else "is there twice"
            raise SettingsError(f"{where}: {name!r} {what}.", remedy="remove it.")
    return names


def _read(file: Path, home: Path) -> CatalogSettings:
    document = read_document(file)
    document.map_text(lambda path, text: substituted(document, path, text, home))
    return validated(CatalogSettings, document)
