"""What the environment overrides, by names that a shell accepts; a name that nobody reads is refused."""

import difflib
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel

from lakehouse.settings.error import SettingsError
from lakehouse.settings.secret import variables_in

PREFIX, SECTION_PREFIX = "LAKEHOUSE_", "LAKEHOUSE__"
# Choices that are made often have a short name.
SHORT = ("platform", "catalog", "kafka", "home", "demo", "jars")
# Read where settings are not: which folder they are in, more declarations, faults that tests arm.
OTHERS = ("CONF", "DECLARATIONS", "FAILPOINTS")
# Keys whose own keys are free: those of other programs, and parameters.
FREE = (("platform", "conf"), ("catalog", "properties"), ("kafka", "properties"), ("parameters",))


class Override(NamedTuple):
    """One value from the environment.

    Args:
        path: section and key; what is below a free key is as it was typed.
        value: the text.
        variable: its name.
    """

    path: tuple[str, ...]
    value: str
    variable: str


def overrides(environ: Mapping[str, str]) -> list[Override]:
    """Every `LAKEHOUSE__SECTION__KEY`, in the order of their names."""
    return [
        Override(_path(variable), environ[variable], variable)
        for variable in sorted(environ)
        if variable.startswith(SECTION_PREFIX)
    ]


def _path(variable: str) -> tuple[str, ...]:
    parts = variable.removeprefix(SECTION_PREFIX).split("__")
    for free in FREE:
        if len(parts) > len(free) and tuple(part.lower() for part in parts[: len(free)]) == free:
            return (*free, "__".join(parts[len(free) :]))
    return tuple(part.lower() for part in parts)


def is_free(path: tuple[str, ...]) -> bool:
    """Whether the last part is a name that is not ours."""
    return path[:-1] in FREE


def property_name(typed: str, names: Collection[str], where: str) -> str:
    """The name that is meant by one that a shell accepts, such as `SASL_PASSWORD` for `sasl.password`.

    A name of the file, or another that is known, is meant whatever its case, and whether it has dots, dashes or
    underscores there. Otherwise one underscore is a dot, two are an underscore, and three are a dash, as images of
    Kafka have it; capitals alone become small. A name that is typed with dots or dashes is taken as it is.

    Raises:
        SettingsError: two names may be meant.
    """
    if "." in typed or "-" in typed:
        return typed
    meant = [name for name in names if _folded(name) == _folded(typed)]
    if len(meant) > 1:
        raise SettingsError(
            f"{where}: {' and '.join(sorted(meant))} are both meant by it.",
            remedy="write three underscores for a dash, two for an underscore and one for a dot.",
        )
    if meant:
        return meant[0]
    written = typed.lower() if typed == typed.upper() else typed
    return re.sub("_{1,3}", lambda match: {1: ".", 2: "_", 3: "-"}[len(match[0])], written)


def _folded(name: str) -> str:
    return re.sub(r"[._-]+", "_", name).lower()


def names_of(sections: Mapping[str, type[BaseModel]], keys: Collection[str]) -> Iterator[str]:
    """The variable of each key; one that ends with two underscores begins those of free names.

    Args:
        sections: name → what has its keys.
        keys: those beside the sections, of `conf/lakehouse.yaml`.
    """
    yield from (f"{PREFIX}{name}" for name in (*OTHERS, *(key.upper() for key in SHORT)))
    yield from (f"{SECTION_PREFIX}{key.upper()}" for key in keys)
    yield from (f"{SECTION_PREFIX}{'__'.join(free).upper()}__" for free in FREE)
    for section, model in sections.items():
        yield from (f"{SECTION_PREFIX}{section.upper()}__{key}" for key in _keys(model))


def _keys(model: type[BaseModel]) -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield name.upper()
        for part in (field.annotation, *getattr(field.annotation, "__args__", ())):
            if isinstance(part, type) and issubclass(part, BaseModel):
                yield from (f"{name.upper()}__{key}" for key in _keys(part))


def variables_of_secrets(conf: Path) -> set[str]:
    """The variables that files of settings refer to, also those that are not chosen."""
    files = [file for file in (*conf.glob("*.yaml"), *conf.glob("*/*.yaml")) if file.is_file()]
    return {name for file in files for name in variables_in(file.read_text(encoding="utf-8", errors="replace"))}


def refuse_unknown(environ: Mapping[str, str], known: Collection[str], referred: Collection[str]) -> None:
    """Refuse a name that looks like one of ours, and that nobody reads: a misspelt one would change nothing.

    Args:
        environ: the environment.
        known: what `names_of` says.
        referred: names that are read all the same.

    Raises:
        SettingsError: there is one; the nearest that is read is named.
    """
    free = tuple(name for name in known if name.endswith("__"))
    for variable in sorted(environ):
        name = variable.upper()
        if not variable.startswith(PREFIX) or variable in referred or name in known or name.startswith(free):
            continue
        nearest = difflib.get_close_matches(name, [name for name in known if name not in free], n=1, cutoff=0.5)
        advice = f"write {nearest[0]}, or unset it" if nearest else "unset it"
        raise SettingsError(
            f"Environment variable {variable}: nobody reads a variable of this name.",
            remedy=f"{advice}; docs/reference/settings.md lists all keys.",
        )
