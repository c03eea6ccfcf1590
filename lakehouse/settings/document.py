"""One YAML file with the overrides laid over it, remembering where each value came from."""

import difflib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import yaml
from pydantic import SecretStr

from lakehouse.settings.error import SettingsError

KeyPath = tuple[str, ...]
_DEEPEST, _MOST = 50, 1_000_000  # levels and values, of a file; more is a mistake, or an anchor that contains itself
_NAME = re.compile(r"[A-Za-z_][\w.-]{,60}")  # of a key; what is none may be anything that was typed
_ENDLESS = "keys and lists go too deep, or an anchor contains itself"


@dataclass
class Document:
    """The content of one file.

    Attributes:
        file: where it was read.
        content: the keys and values.
        origins: the environment variable behind each value that does not stem from the file.
        prefix: what to write before a key in messages, for a section of a larger file.
    """

    file: Path
    content: dict[str, Any]
    origins: dict[KeyPath, str] = field(default_factory=dict[KeyPath, str])
    prefix: str = ""

    def put(self, path: KeyPath, value: str, variable: str) -> None:
        """Override one value from an environment variable."""
        section = self.content
        for part in path[:-1]:
            below: object = section.setdefault(part, {})
            if not isinstance(below, dict):
                raise SettingsError(
                    f"Environment variable {variable}: {part} has no keys below it.", remedy="check its name."
                )
            section = cast("dict[str, Any]", below)
        section[path[-1]] = value
        self.origins[path] = variable

    def below(self, path: KeyPath) -> dict[str, Any]:
        """What is under a key, or nothing."""
        section = self.content
        for part in path:
            inner: object = section.get(part)
            section = cast("dict[str, Any]", inner) if isinstance(inner, dict) else {}
        return section

    def only(self, *keys: str) -> "Document":
        """Return these keys alone."""
        return Document(self.file, {key: self.content[key] for key in keys if key in self.content}, self.origins)

    def section(self, key: str) -> "Document":
        """Return what is below `key` as a document of its own."""
        below: object = self.content.get(key) or {}
        if not isinstance(below, dict):
            raise SettingsError(f"{self.where(key)}: should have keys below it.", remedy="indent them under it.")
        origins = {path[1:]: variable for path, variable in self.origins.items() if path[0] == key and len(path) > 1}
        return Document(self.file, cast("dict[str, Any]", below), origins, f"{self.prefix}{key}.")

    def where(self, *path: str) -> str:
        """Name the place of a value: the file and key, or the environment variable."""
        if path in self.origins:
            return f"Environment variable {self.origins[path]}"
        return f"{self.file}, key {self.prefix}{'.'.join(path)}" if path else str(self.file)

    def text(self, key: str, default: str) -> str:
        """Return a value that must be a non-empty text."""
        value = self.content.get(key, default)
        if not isinstance(value, str) or not value or "\0" in value:
            raise SettingsError(f"{self.where(key)}: should be a text.", remedy="quote it.")
        return value

    def refuse_unknown(self, known: set[str]) -> None:
        """Refuse keys that nobody reads.

        Raises:
            SettingsError: there is one.
        """
        for key in self.content:
            if key not in known:
                raise SettingsError(
                    f"{self.where(key)}: unknown key.",
                    remedy=f"{meant(key, known)}use one of {', '.join(sorted(known))}.",
                )

    def map_text(self, change: Callable[[KeyPath, str], str | SecretStr]) -> None:
        """Replace every text by what `change` makes of it; numbers and flags of `conf` and `properties` become text."""
        self.content = cast("dict[str, Any]", _mapped(self.content, (), change))


def _mapped(value: object, path: KeyPath, change: Callable[[KeyPath, str], str | SecretStr]) -> object:
    if isinstance(value, dict):
        return {
            key: _mapped(below, (*path, str(key)), change) for key, below in cast("dict[str, object]", value).items()
        }
    if path[0] in ("conf", "properties") and isinstance(value, bool | int | float):
        value = str(value).lower() if isinstance(value, bool) else str(value)
    return change(path, value) if isinstance(value, str) else value


def meant(key: str, known: Iterable[str]) -> str:
    """The beginning of a remedy: the known key that an unknown one is like, if there is one."""
    similar = difflib.get_close_matches(key, known, n=1)
    return f"did you mean {similar[0]}? Otherwise " if similar else ""


def read_document(file: Path) -> Document:
    """Read one YAML file.

    Raises:
        SettingsError: it is missing, not YAML, names a key twice, or is no mapping of keys to values.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise SettingsError(
            f"There is no file {file}.", remedy="write it, or set LAKEHOUSE_CONF to another folder."
        ) from None
    except OSError as error:
        raise SettingsError(
            f"Cannot read {file}: {error.strerror or type(error).__name__}.",
            remedy="put a file there that this user may read.",
        ) from None
    except UnicodeDecodeError:
        raise SettingsError(f"Cannot read {file}: it is not UTF-8.", remedy="save it as UTF-8.") from None
    content = read_yaml(text, str(file), remedy="correct that line.")
    if content is None:
        content = {}
    if not isinstance(content, dict) or not all(isinstance(key, str) for key in cast("dict[object, object]", content)):
        raise SettingsError(f"{file}: should hold keys and values.", remedy="write `key: value`, one per line.")
    return Document(file, cast("dict[str, Any]", content))


def read_yaml(text: str, where: str, *, remedy: str) -> object:
    """Read a text as YAML.

    Args:
        text: what was written.
        where: the file or the environment variable, for the message.
        remedy: what to do about a text that is none.

    Raises:
        SettingsError: it is not YAML, names a key twice, or has no end to its levels; the line is named where it is
            known, and nothing of the text is shown.
    """
    line = ""
    try:
        content = cast("object", yaml.load(text, Loader=_Loader))  # noqa: S506  # a SafeLoader
        if _is_bounded(content):
            return content
        problem = _ENDLESS
    except RecursionError:
        problem = _ENDLESS
    except (yaml.YAMLError, ValueError, TypeError, LookupError, AttributeError) as error:
        # YAML's own message quotes the text around the place, which may be a secret: name the place alone. Dates that
        # there are not, keys that are lists, and tags on what is none of their kind come as errors without a place.
        mark = (error.problem_mark or error.context_mark) if isinstance(error, yaml.MarkedYAMLError) else None
        line = f", line {mark.line + 1}" if mark else ""
        problem = f"{error.problem} is given twice" if isinstance(error, _KeyTwiceError) else "not YAML"
    if problem == _ENDLESS:
        remedy = "write the values out, in fewer levels."
    # Raised outside the handler: the error itself would travel along, and show what was typed.
    raise SettingsError(f"{where}{line}: {problem}.", remedy=remedy)


def _is_bounded(content: object) -> bool:
    """Whether one can walk through all of it: an anchor may contain itself, or others that double at each level."""
    open_values, seen = [(content, 0)], 0
    while open_values:
        value, depth = open_values.pop()
        seen += 1
        if depth > _DEEPEST or seen > _MOST:
            return False
        if isinstance(value, dict):
            open_values.extend((below, depth + 1) for below in cast("dict[object, object]", value).values())
        elif isinstance(value, list):
            open_values.extend((below, depth + 1) for below in cast("list[object]", value))
    return True


class _KeyTwiceError(yaml.MarkedYAMLError):
    pass


class _Loader(yaml.SafeLoader):
    """YAML that refuses a key given twice, of which the plain loader would silently keep the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002
        keys: set[object] = set()
        for key_node, _ in node.value:
            key = cast("object", self.construct_object(key_node, deep=True))
            if key in keys:
                named = isinstance(key, str) and _NAME.fullmatch(key)
                raise _KeyTwiceError(problem=f"key {key}" if named else "a key", problem_mark=key_node.start_mark)
            keys.add(key)
        return super().construct_mapping(node, deep=deep)
