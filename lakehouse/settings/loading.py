"""Reads `conf/`: one file selects, the selected files describe, the environment overrides."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from pydantic import BaseModel

from lakehouse.settings.catalogs.others import other_catalogs
from lakehouse.settings.document import Document, read_document, read_yaml
from lakehouse.settings.environment import (
    SHORT,
    is_free,
    names_of,
    overrides,
    property_name,
    refuse_unknown,
    variables_of_secrets,
)
from lakehouse.settings.error import SettingsError
from lakehouse.settings.models import (
    AutomationSettings,
    CatalogSettings,
    DagsterSettings,
    IngestSettings,
    KafkaSettings,
    MaintenanceSettings,
    Platform,
    Settings,
)
from lakehouse.settings.models.validated import validated
from lakehouse.settings.packages import PREFIX, package_folder
from lakehouse.settings.parameters import problem_of
from lakehouse.settings.shipped import SELECTION, default_conf
from lakehouse.settings.state import StateFolder
from lakehouse.settings.written import substituted, without_secret

_FOLDERS = {"platform": "platforms", "catalog": "catalogs", "kafka": "kafka"}
_SECTIONS = {"ingest", "maintenance", "automation", "dagster", "parameters"}
_SELECTION_KEYS = {
    *_FOLDERS,
    "other_catalogs",
    "home",
    "timezone",
    "declarations",
    "demo",
    "jars",
    "polaris",
    *_SECTIONS,
}
_MODELS: dict[str, type[BaseModel]] = {
    name: field.annotation
    for name, field in Settings.model_fields.items()
    if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)
}


def load_settings(conf: Path | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """Read the settings.

    Args:
        conf: the folder; else `LAKEHOUSE_CONF`, else `conf/` of the project around the working directory, else that of
            the clone that this package is installed from.
        environ: the environment to read overrides from; else the process's own.

    Raises:
        SettingsError: names the file (or environment variable) and the key.
    """
    env = os.environ if environ is None else environ
    folder = _conf_folder(conf, env)
    chosen = read_document(folder / SELECTION)
    refuse_unknown(env, set(names_of(_MODELS, _SELECTION_KEYS)), variables_of_secrets(folder))
    for key in SHORT:
        if value := env.get(f"LAKEHOUSE_{key.upper()}"):
            chosen.put((key,), value, f"LAKEHOUSE_{key.upper()}")
    given = overrides(env)
    for path, value, variable in given:
        if len(path) == 1 or path[0] not in _FOLDERS:
            _put(chosen, path, value, variable)
    chosen.refuse_unknown(_SELECTION_KEYS)
    chosen.map_text(lambda key_path, text: without_secret(chosen, key_path, text))

    home = _resolved(folder, chosen.text("home", "../.lakehouse"))
    parts: dict[str, Document] = {}
    for key, subfolder in _FOLDERS.items():
        document = _selected(folder, subfolder, key, chosen)
        for path, value, variable in given:
            if path[0] == key and len(path) > 1:
                _put(document, path, value, variable, below=1)
        if "name" in document.content and key == "platform":
            raise SettingsError(f"{document.where('name')}: a platform is named by its file.", remedy="remove the key.")
        document.map_text(lambda key_path, text, doc=document: substituted(doc, key_path, text, home))
        parts[key] = document
    return validated(
        Settings,
        chosen.only("timezone", "demo", "polaris"),
        conf=folder,
        state=StateFolder(home),
        platform=validated(Platform, parts["platform"], name=chosen.text("platform", "local")),
        catalog=validated(CatalogSettings, parts["catalog"]),
        kafka=validated(KafkaSettings, parts["kafka"]),
        other_catalogs=other_catalogs(folder / _FOLDERS["catalog"], chosen, home),
        ingest=validated(IngestSettings, chosen.section("ingest")),
        maintenance=validated(MaintenanceSettings, chosen.section("maintenance")),
        automation=validated(AutomationSettings, chosen.section("automation")),
        dagster=validated(DagsterSettings, chosen.section("dagster")),
        jars=_jar_folder(folder, chosen),
        declarations=_declaration_folders(folder, chosen, env),
        parameters=_parameters(chosen.section("parameters")),
    )


def _conf_folder(conf: Path | None, env: Mapping[str, str]) -> Path:
    named = conf or env.get("LAKEHOUSE_CONF")
    folder = Path(named).expanduser().absolute() if named else default_conf(Path.cwd())
    if not folder.is_dir():
        raise SettingsError(
            f"There is no conf folder {folder}.", remedy=f"set LAKEHOUSE_CONF to the folder that holds {SELECTION}."
        )
    return folder


def _selected(folder: Path, subfolder: str, key: str, chosen: Document) -> Document:
    name = chosen.text(key, "local")
    names = sorted(path.stem for path in (folder / subfolder).glob("*.yaml"))
    if name not in names:
        raise SettingsError(
            f"{chosen.where(key)}: there is no file of that name in {folder / subfolder}.",
            remedy=f"choose one of {', '.join(names) or '(none yet)'}, or write one.",
        )
    return read_document(folder / subfolder / f"{name}.yaml")


def _put(document: Document, path: tuple[str, ...], value: str, variable: str, *, below: int = 0) -> None:
    """Override one value of the document that is `below` so many parts of the path."""
    if is_free(path):
        section = document.below(path[below:-1])
        known = _names_of_pyiceberg() if path[0] == "catalog" else ()
        path = (*path[:-1], property_name(path[-1], {*section, *known}, f"Environment variable {variable}"))
    document.put(path[below:], value, variable)


def _names_of_pyiceberg() -> set[str]:
    """The properties that PyIceberg has a name for."""
    from pyiceberg import catalog, io  # costs more than all the rest of this room, and is seldom needed

    constants = [vars(module) for module in (catalog, io)]
    return {value for names in constants for name, value in names.items() if name.isupper() and isinstance(value, str)}


def _parameters(document: Document) -> dict[str, object]:
    """The parameters; one from the environment is read as if it stood in the file: 0.5 is a number."""
    parameters: dict[str, object] = {}
    for key, written in document.content.items():
        where, value = document.where(str(key)), written
        if (key,) in document.origins:
            value = read_yaml(written, where, remedy="write a number, true or false, or a text in quotes.")
        if (problem := problem_of(str(key), value)) is not None:
            raise SettingsError(
                f"{where}: {key} {problem}.", remedy="correct the value; docs/reference/settings.md lists the keys."
            )
        parameters[str(key)] = value
    return parameters


def _declaration_folders(folder: Path, chosen: Document, env: Mapping[str, str]) -> tuple[Path, ...]:
    listed = chosen.content.get("declarations", ["declarations"])
    if isinstance(listed, str):
        listed = listed.split(os.pathsep)
    if not isinstance(listed, list) or not all(isinstance(item, str) for item in cast("list[object]", listed)):
        raise SettingsError(
            f"{chosen.where('declarations')}: should be a list of folders.", remedy="write one per line."
        )
    more = [item for item in env.get("LAKEHOUSE_DECLARATIONS", "").split(os.pathsep) if item]
    where = chosen.where("declarations")
    in_conf = [declaration_folder(folder, item, where) for item in cast("list[str]", listed)]
    added = [declaration_folder(Path.cwd(), item, "Environment variable LAKEHOUSE_DECLARATIONS") for item in more]
    return tuple(dict.fromkeys([*in_conf, *added]))


def declaration_folder(base: Path, text: str, where: str) -> Path:
    """A folder of declarations: a path, or the name of a package such as `package=shop.tables`.

    Args:
        base: what a path is relative to.
        text: as written.
        where: the file and key, for the error.

    Raises:
        SettingsError: Python has no such package.
    """
    return package_folder(text, where) if text.startswith(PREFIX) else _resolved(base, text)


def _jar_folder(folder: Path, chosen: Document) -> Path | None:
    if "jars" not in chosen.content:
        return None
    # As with other folders: what is typed at a prompt is relative to where one is.
    jars = _resolved(Path.cwd() if ("jars",) in chosen.origins else folder, chosen.text("jars", ""))
    if not jars.is_dir():
        raise SettingsError(
            f"{chosen.where('jars')}: there is no folder {jars}.", remedy="name a folder that holds the locked JARs."
        )
    return jars


def _resolved(base: Path, text: str) -> Path:
    return (base / Path(text).expanduser()).resolve()
