"""Secrets: `${env:NAME}` and `${file:/path}` stay references until the moment somebody needs the value."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, Self
from urllib.parse import quote

from pydantic import SecretStr

from lakehouse.settings.error import SettingsError

_REFERENCE = re.compile(r"\$\{(env|file):([^}]+)\}")


def has_reference(value: str) -> bool:
    """Say whether a value refers to a secret."""
    return _REFERENCE.search(value) is not None


def without_references(value: str) -> str:
    """What stands in plain text beside the references."""
    return _REFERENCE.sub("", value)


def variables_in(text: str) -> set[str]:
    """The environment variables that a text refers to."""
    return {match[2] for match in _REFERENCE.finditer(text) if match[1] == "env"}


def revealed(value: str | SecretStr) -> str:
    """A value in the clear.

    Raises:
        SettingsError: the variable or file that it refers to cannot be read.
    """
    return value.get_secret_value() if isinstance(value, SecretStr) else value


class LateSecret(SecretStr):
    """A secret that is looked up when it is used.

    Loading the settings therefore needs no secrets (`dagster definitions validate` runs anywhere), and what is pickled
    to another process is the reference, not the value.
    """

    def __init__(self, template: str, *, where: str, in_address: bool = False) -> None:
        """Hold a text with at least one reference.

        Args:
            template: the text.
            where: the file and key, for errors.
            in_address: whether the text is an address, in which a password may hold no `@` or `/` as they are: what is
                looked up for a part of it is written with percent signs.
        """
        super().__init__(template)
        self._template = template
        self._where = where
        self._quoted = in_address and _REFERENCE.fullmatch(template) is None

    def get_secret_value(self) -> str:
        """Read the environment variable or file now.

        Raises:
            SettingsError: the variable is not set or the file cannot be read.
        """
        return _REFERENCE.sub(self._in_its_place, self._template)

    def parts(self) -> Iterator[tuple[Literal["text", "env", "file"], str]]:
        """Text, names of environment variables and paths of files, in their order; no value is looked up."""
        begun = 0
        for match in _REFERENCE.finditer(self._template):
            if text := self._template[begun : match.start()]:
                yield "text", text
            yield ("env" if match[1] == "env" else "file"), match[2]
            begun = match.end()
        if text := self._template[begun:]:
            yield "text", text

    def _in_its_place(self, match: re.Match[str]) -> str:
        value = self._look_up(match)
        return quote(value, safe="") if self._quoted else value

    def _look_up(self, match: re.Match[str]) -> str:
        kind, name = match.groups()
        if kind == "env":
            value = os.environ.get(name)
            if value is None:
                raise SettingsError(
                    f"{self._where}: the environment variable {name} is not set.", remedy=f"set {name} and start again."
                )
            return value
        try:
            # Mounted secrets commonly end with a newline that is no part of them.
            return Path(name).read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, ValueError) as error:  # ValueError: it is no text, or no path
            raise SettingsError(
                f"{self._where}: cannot read the file {name!r} ({type(error).__name__}).",
                remedy="create it, or make it readable for this user.",
            ) from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LateSecret) and self._template == other._template

    def __hash__(self) -> int:
        return hash(self._template)

    def __len__(self) -> int:
        return len(self.get_secret_value())

    def __bool__(self) -> bool:
        return True  # to ask whether there is one looks nothing up

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self
