"""Reads a file of `conf/polaris/`: one secret may be referred to, and none may stand in it."""

from pathlib import Path

from pydantic import SecretStr

from lakehouse.polaris.declared.server import PolarisServer
from lakehouse.settings import LateSecret, SettingsError
from lakehouse.settings.document import Document, read_document
from lakehouse.settings.models.validated import validated
from lakehouse.settings.plain_secret import has_plain_secret
from lakehouse.settings.secret import has_reference
from lakehouse.settings.written import refuse_unseen

FOLDER = "polaris"
_CREDENTIAL = ("credential",)


def polaris_names(conf: Path) -> list[str]:
    """The servers that are declared in a folder of settings."""
    return sorted(file.stem for file in (conf / FOLDER).glob("*.yaml"))


def load_polaris(conf: Path, name: str = "") -> PolarisServer:
    """Read what is declared of a server.

    Args:
        conf: the folder of settings.
        name: of the file; the only one there is if none is named.

    Raises:
        SettingsError: there is no such file, or a key of it is wrong.
    """
    names = polaris_names(conf)
    if name not in names and (name or len(names) != 1):
        raise SettingsError(
            f"There is no file {name}.yaml in {conf / FOLDER}." if name else f"No server is named for {conf / FOLDER}.",
            remedy=f"name one of {', '.join(names) or '(none yet)'}, or write one: docs/how-to/polaris.md.",
        )
    document = read_document(conf / FOLDER / f"{name or names[0]}.yaml")
    document.map_text(lambda path, text: _text(document, path, text))
    return validated(PolarisServer, document)


def _text(document: Document, path: tuple[str, ...], text: str) -> str | SecretStr:
    where = document.where(*path)
    if path == _CREDENTIAL:
        refuse_unseen(where, text)
        if has_plain_secret(path[-1], text):
            raise SettingsError(
                f"{where}: a secret must not be written into a file.",
                remedy="write ${env:NAME} or ${file:/path} in its place.",
            )
        return LateSecret(text, where=where)
    if has_reference(text) or has_plain_secret(path[-1], text):
        raise SettingsError(
            f"{where}: no secret belongs here.", remedy="remove it; only `credential` may refer to one."
        )
    return text
